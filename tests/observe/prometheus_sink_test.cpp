// Tests of the series that records set, with a simulated clock.
#include "observe/sinks/prometheus.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "observe/sinks/tensorboard_file.h"
#include "tests/train/options_helpers.h"
#include "tests/train/records.h"

namespace megalith {
namespace {

class KeptEndpoint final : public Endpoint {
 public:
  int port() const override { return 1; }
  void set(std::string_view name, double value, const Labels& labels) override {
    EXPECT_EQ(series_named(name).kind, SeriesKind::gauge) << name;
    values[key(name, labels)] = value;
  }
  void add(std::string_view name, double more, const Labels& labels) override {
    EXPECT_EQ(series_named(name).kind, SeriesKind::counter) << name;
    EXPECT_GE(more, 0) << name;
    values[key(name, labels)] += more;
  }
  void observe(std::string_view, double) override {}
  void clear(std::string_view name) override {
    std::erase_if(values, [&](const auto& v) { return v.first.starts_with(name); });
  }
  void healthy_until(double moment) override { until = moment; }

  static std::string key(std::string_view name, const Labels& labels) {
    std::string text(name);
    for (const auto& [label, value] : labels) text += " " + label + "=" + value;
    return text;
  }
  std::map<std::string, double> values;
  double until = 0;
};

class PrometheusSinkTest : public ::testing::Test {
 protected:
  // A step with this duration and data wait.
  void step(double seconds, double wait = 0, double norm = 1, bool counted = true) {
    now_ += seconds;
    Record r = record_of({{"iteration_time", seconds},
                          {"data_wait", wait},
                          {"grad_norm", norm},
                          {"throughput", 30},
                          {"tokens_per_second", 200},
                          {"learning_rate", 0.5}});
    r.iteration = ++iteration_, r.train_iters = 10, r.consumed_samples = 4 * iteration_, r.loss = 2.5;
    r.counted = counted, r.finite = std::isfinite(norm);
    sink_.take(r);
  }
  double of(const std::string& key) { return endpoint_.values.at(key); }

  double now_ = 1000;
  i64 iteration_ = 0;
  KeptEndpoint endpoint_;
  Options options_ = options_of(std::string(kSmallRun) + "--vocab-size 101");
  PrometheusSink sink_{endpoint_, options_, 0, [&] { return now_; }};
};

TEST_F(PrometheusSinkTest, TellsNormsOfTheOptimizersStates) {
  sink_.take(record_of({{"optimizer_states", 3, "momentum"}, {"optimizer_states", 5, "variance"}}));
  EXPECT_EQ(of("megatron:optimizer_state_norm state=momentum"), 3);
  EXPECT_EQ(of("megatron:optimizer_state_norm state=variance"), 5);
}

TEST_F(PrometheusSinkTest, TellsTheLastStep) {
  step(2), step(4, 1);
  const std::map<std::string, double> wanted{{"megatron:iteration_time_seconds", 4},
                                             {"megatron:grad_norm", 1},
                                             {"megatron:tflops_per_gpu", 7.5},
                                             {"megatron:tokens_per_second", 50},
                                             {"megatron:loss", 2.5},
                                             {"megatron:learning_rate", 0.5},
                                             {"megatron:consumed_samples_total", 8},
                                             {"megatron:tokens_total", 8 * 32},
                                             {"megalith_iteration", 2},
                                             {"megalith_train_iters", 10},
                                             {"megalith_phase_seconds phase=data_wait", 1},
                                             {"megatron:skipped_iterations_total", 0}};
  for (const auto& [name, value] : wanted) EXPECT_DOUBLE_EQ(of(name), value) << name;
  EXPECT_NEAR(of("megalith_last_step_timestamp_seconds"), unix_seconds(), 60);
}

TEST_F(PrometheusSinkTest, CountsStepsThatDidNotCount) {
  step(1), step(1, 0, NAN, false), step(1), step(1, 0, 1, false);
  EXPECT_EQ(of("megatron:skipped_iterations_total"), 2);
  EXPECT_EQ(of("megatron:nan_iterations_total"), 1);
}

// A record has the seconds since the start of the process.
TEST_F(PrometheusSinkTest, CountsSpikesOnce) {
  EXPECT_EQ(of("megatron:loss_spikes_total"), 0);
  const auto spiky = [&](std::vector<Given> given) {
    given.push_back({"iteration_time", 1}), now_ += 1;
    sink_.take(record_of(given));
  };
  spiky({{"loss_spikes", 1}}), spiky({{"loss_spikes", 1}, {"grad_norm_spikes", 2}}), spiky({{"loss_spikes", 3}});
  EXPECT_EQ(of("megatron:loss_spikes_total"), 3);
  EXPECT_EQ(of("megatron:grad_norm_spikes_total"), 2);
}

TEST_F(PrometheusSinkTest, TellsPhases) {
  const std::vector<NamedValue> times{
      {"interval-time", 9}, {"forward-compute", 1.5}, {"all-grads-sync", 0.25}, {"params-all-gather", 0}};
  sink_.take_times(times, 4);
  EXPECT_EQ(of("megalith_phase_seconds phase=forward"), 1.5);
  EXPECT_EQ(of("megalith_phase_seconds phase=grad_reduce"), 0.25);
  EXPECT_FALSE(endpoint_.values.contains("megalith_phase_seconds phase=pipeline_idle"));
  const std::vector<NamedValue> waits{{"forward-recv", 0.5}, {"backward-recv", 0.75}, {"forward-send", 9}};
  sink_.take_times(waits, 5);
  EXPECT_EQ(of("megalith_phase_seconds phase=pipeline_idle"), 1.25);
  EXPECT_FALSE(endpoint_.values.contains("megalith_phase_seconds phase=param_gather")) << "it has none";
}

// The largest norm stays exported for 10 minutes. Then the largest later one replaces it.
TEST_F(PrometheusSinkTest, KeepsThePeakOfTheNorm) {
  step(1, 0, 3), step(1, 0, 50), step(1, 0, 4), step(1, 0, NAN);
  EXPECT_EQ(of("megatron:grad_norm_peak"), 50);
  step(597, 0, 2);
  EXPECT_EQ(of("megatron:grad_norm_peak"), 50);
  step(2, 0, 2);
  EXPECT_EQ(of("megatron:grad_norm_peak"), 4);
  step(3, 0, 2);
  EXPECT_EQ(of("megatron:grad_norm_peak"), 2);
}

// The ledger's seconds sum to the wall time. The series have the ledger's seconds.
TEST_F(PrometheusSinkTest, StatesHaveTheLedgersTime) {
  const auto ledger_says = [&](std::vector<NamedValue> times) {
    Record r = record_of({{"iteration_time", 1}});
    r.times = std::move(times);
    sink_.take(r);
  };
  ledger_says({{"init", 3}, {"load", 1}, {"train", 2}, {"lost", 0}});
  ledger_says({{"init", 3}, {"load", 1}, {"train", 6.5}, {"lost", 0}, {"eval", 2}});
  const std::map<std::string, double> wanted{{"init", 3}, {"load", 1}, {"train", 6.5}, {"eval", 2}};
  for (const auto& [name, value] : wanted) EXPECT_DOUBLE_EQ(of("megalith_time_seconds_total state=" + name), value);
  EXPECT_FALSE(endpoint_.values.contains("megalith_time_seconds_total state=lost"));
  sink_.leave(Away::saving), now_ += 5, sink_.come_back();
  EXPECT_DOUBLE_EQ(of("megalith_phase_seconds phase=save_stall"), 5);
}

TEST_F(PrometheusSinkTest, TellsTheProgramsVersions) {
  EXPECT_FALSE(endpoint_.values.contains("megalith_build_info")) << "nobody says what it is";
  options_.stack = "megalith 0.1.0; commit 98e7c903fd2a with changes; GCC 12.2.0; CUDA 13.0.88; cuDNN 9.1; NCCL 2.28.9";
  const PrometheusSink told(endpoint_, options_, 0);
  EXPECT_EQ(of("megalith_build_info version=0.1.0 git=98e7c903fd2a with changes cuda=13.0.88 nccl=2.28.9"), 1);
}

TEST_F(PrometheusSinkTest, TellsTheEightRanksWhoseLossesAreOffMost) {
  std::vector<LossDeviation> ranks;
  for (int r = 0; r < 12; ++r) ranks.push_back({r, r % 2 == 0 ? double(r) : -double(r)});
  ranks[1].deviations = NAN;
  sink_.take_rank_losses(ranks);
  const auto name = [](int r) { return fmt::format("megalith_rank_loss_deviation data_parallel_rank={}", r); };
  for (int r = 0; r < 12; ++r) EXPECT_EQ(endpoint_.values.count(name(r)), r == 1 || r >= 5) << r;
  EXPECT_EQ(of(name(1)), std::numeric_limits<double>::infinity());
  EXPECT_EQ(of(name(11)), -11);
}

TEST_F(PrometheusSinkTest, IsWellWithinTenMedians) {
  for (int i = 0; i < 5; ++i) step(2);
  step(100);
  EXPECT_DOUBLE_EQ(endpoint_.until, now_ + 20);
  sink_.leave(Away::evaluating);
  EXPECT_EQ(endpoint_.until, std::numeric_limits<double>::infinity());
  now_ += 50, sink_.come_back();
  EXPECT_DOUBLE_EQ(endpoint_.until, now_ + 20);
}

TEST_F(PrometheusSinkTest, TellsSavesEvaluationsAndRanks) {
  sink_.take_save({.iteration = 4, .seconds = 1.5, .bytes = 99, .is_saved = true});
  sink_.take_save({.iteration = 6, .seconds = 2});
  EXPECT_EQ(of("megalith_checkpoint_last_iteration"), 4);
  EXPECT_EQ(of("megalith_checkpoint_save_seconds"), 1.5);
  EXPECT_EQ(of("megalith_checkpoint_bytes"), 99);
  EXPECT_EQ(of("megalith_checkpoint_failures_total"), 1);
  sink_.take_evaluation({.where = "", .losses = {{"lm loss", 0.5}, {"other", 9}}, .set = "-wiki"});
  EXPECT_EQ(of("megatron:validation_loss set=wiki"), 0.5);
  std::vector<OwnWork> ranks;
  for (int r = 0; r < 20; ++r) ranks.push_back({r, "h", double(r), 1});
  sink_.take_own_work(ranks);
  for (int r = 0; r < 20; ++r)
    EXPECT_EQ(endpoint_.values.count(fmt::format("megalith_rank_own_seconds rank={} host=h", r)), r < 4 || r >= 16)
        << r;
}

}  // namespace
}  // namespace megalith
