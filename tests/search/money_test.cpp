// Days, money and useful time.
#include "search/money.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "search/report.h"
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

TEST(Money, the_useful_share_is_that_of_simulated_runs_and_no_other_interval_is_better) {
  std::mt19937_64 random(1);
  for (const i64 gpus : {1024, 16384, 131072})
    for (const Prices& p : {Prices{.save_stall_seconds = 0.5, .restart_seconds = 60},
                            Prices{.save_stall_seconds = 120, .restart_seconds = 300}}) {
      const Goodput g = goodput(p, gpus, 1.0);
      const int saves = 200, runs = 300;
      const auto useful = [&](double interval) {
        double sum = 0;
        for (int i = 0; i < runs; ++i) sum += simulated(p, gpus, interval, saves, random);
        return interval * saves * runs / sum;
      };
      EXPECT_NEAR(useful(g.save_seconds), g.useful, 0.006) << gpus;
      EXPECT_LT(useful(g.save_seconds * 2.5), g.useful + 0.004) << gpus;
      EXPECT_LT(useful(g.save_seconds / 2.5), g.useful + 0.004) << gpus;
    }
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
