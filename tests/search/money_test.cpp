// Days, money and useful time.
#include "search/money.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "search/saves.h"
#include "search_case.h"

namespace megalith::search {
namespace {

// Work of `steps` saves' intervals on GPUs that fail: seconds.
double simulated(const Prices& p, i64 gpus, double interval, int saves, std::mt19937_64& random) {
  std::exponential_distribution<double> until(double(gpus) / (p.gpu_mtbf_hours * 3600));
  double now = 0, failure = until(random);
  for (int done = 0; done < saves;) {
    if (now + interval + p.save_stall_seconds <= failure) {
      now += interval + p.save_stall_seconds, ++done;
      continue;
    }
    now = failure;
    for (double back = 0; back < p.detect_seconds + p.restart_seconds;) {  // a failure while it comes back starts anew
      const double next = until(random), wants = p.detect_seconds + p.restart_seconds;
      back = std::min(next, wants), now += back;
      if (next >= wants) failure = now + next - wants;
      if (next < wants) back = 0;
    }
  }
  return now;
}

}  // namespace

TEST(Money, the_useful_share_is_that_of_10000_simulated_runs_and_no_other_interval_is_better) {
  std::mt19937_64 random(1);
  constexpr int kRuns = 10000, kSaves = 40;
  const auto useful = [&](const Prices& p, i64 gpus, double interval) {
    double sum = 0;
    for (int i = 0; i < kRuns; ++i) sum += simulated(p, gpus, interval, kSaves, random);
    return interval * kSaves * kRuns / sum;
  };
  for (const i64 gpus : {1024, 16384, 131072})
    for (const Prices& p : {Prices{.save_stall_seconds = 0.5, .restart_seconds = 60},
                            Prices{.save_stall_seconds = 120, .restart_seconds = 300}}) {
      const Goodput g = goodput(p, gpus, 1.0);
      EXPECT_NEAR(useful(p, gpus, g.save_seconds), g.useful, 0.003) << gpus;
      for (const double factor : {0.5, 1.5, 2.5})
        EXPECT_LT(useful(p, gpus, g.save_seconds * factor), g.useful + 0.002) << gpus << " x " << factor;
    }
}

// The expected time of a run agrees with the simulated runs above. It is least within 5% of the printed interval.
TEST(Money, the_interval_is_near_the_best_of_all) {
  for (const i64 gpus : {64, 1024, 16384})
    for (const double stall : {0.5, 5.0, 30.0}) {
      const Prices p{.save_stall_seconds = stall};
      const double m = p.gpu_mtbf_hours * 3600 / double(gpus);
      const auto lost = [&](double t) { return std::expm1((t + stall) / m) / t; };
      double best = stall;
      for (double t = stall; t < m; t *= 1.001)
        if (lost(t) < lost(best)) best = t;
      EXPECT_NEAR(goodput(p, gpus, 0.01).save_seconds / best, 1, 0.05) << gpus << " GPUs, stall " << stall;
    }
}

// Checkpoints of a run of 100 steps, saved every 10: how many stay, and what they cost.
TEST(Money, saves_that_stay_follow_from_the_flags) {
  const double tokens = 100.0 * 32 * 1024;
  const Asked asked{.gpus = 8, .tokens = tokens, .prices = {.storage_tb_month = 30}};
  const auto saves = [&](const std::string& flags) {
    const Options base = base_of(kSmall + flags);
    Row row{.choice = {.micro_batch = 1}, .gpus = 8};
    row.goodput.save_steps = 10, row.cost.days = 3;
    return saves_of(base, row, asked);
  };
  const Saves all = saves("");
  EXPECT_EQ(all.taken, 10);
  EXPECT_EQ(all.kept, 10);
  EXPECT_GT(all.each, 1e6);
  EXPECT_DOUBLE_EQ(all.usd, 0.5 * 10 * all.each / 1e12 * 30 * 3 / 30);
  const Saves latest = saves("--most-recent-k 2 ");
  EXPECT_EQ(latest.kept, 2);
  EXPECT_DOUBLE_EQ(latest.usd, 2 * latest.each / 1e12 * 30 * 3 / 30);
  EXPECT_EQ(saves("--save-retain-interval 50 --save-interval 10 --save x ").kept, 3);
}

// The figures of published tables that follow from their own formula.
TEST(Money, days_and_money_follow_from_tokens_a_second) {
  const RunCost c = cost_of({.gpu_hour = 3.10, .watts = 700}, 256, 1e12, 4200.0 * 256, 1);
  EXPECT_NEAR(c.days, 10.76, 0.01);
  EXPECT_NEAR(c.usd, 205026, 1);
  EXPECT_NEAR(c.mwh, 1e12 / 4200 / 3600 * 700 / 1e6, 1e-6);
}

TEST(Money, an_assumption_above_the_peak_is_refused) {
  const Options base = base_of(
      "--num-layers 126 --hidden-size 16384 --num-attention-heads 128 --group-query-attention --num-query-groups 8 "
      "--ffn-hidden-size 53248 --seq-length 8192 --vocab-size 128256 --swiglu --bf16 --normalization RMSNorm "
      "--disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type rope --global-batch-size "
      "2048");
  const DeviceFacts h100 = find_facts("h100");
  const Asked asked{.gpus = 4096};
  try {
    (void)assumed_text(base, h100, asked, {.gpu_tokens = 1250});
    FAIL() << "159% of the peak is taken";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("159% of the dense fp8 peak"), std::string::npos) << e.what();
  }
  EXPECT_NE(assumed_text(base, h100, asked, {1250, true}).find("2.26 days"), std::string::npos);
  EXPECT_NE(assumed_text(base, h100, asked, {300}).find("38% of the dense fp8 peak"), std::string::npos);
}

}  // namespace megalith::search
