// Tests how the recorder combines values of iterations: over ranks, over an interval, and over an interruption.
#include "observe/recorder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "exec/cpu/backend.h"
#include "settings/schedules.h"
#include "small_run.h"
#include "tests/harness/thread_ranks.h"
#include "tests/train/records.h"

namespace megalith {
namespace {

using Maybe = std::optional<double>;

struct RecordedModel {
  Options options = options_for(1, "--log-interval 1000");
};

constexpr auto grad_norm = [](const Seen& s) -> Maybe { return s.step.grad_norm; };
constexpr Metric kMetrics[] = {
    {.name = "last", .of = grad_norm},
    {.name = "mean", .of = grad_norm, .over_interval = OverInterval::mean},
    {.name = "sum", .of = grad_norm, .over_interval = OverInterval::sum},
    {.name = "max", .of = grad_norm, .over_interval = OverInterval::max},
    {.name = "each", .of = grad_norm, .over_interval = OverInterval::each},
    {.name = "rate", .of = grad_norm, .over_interval = OverInterval::rate},
    {.name = "unknown", .of = [](const Seen&) { return Maybe(); }},
    {.name = "hidden", .unless_zero = true, .of = [](const Seen& s) -> Maybe { return s.state.skipped_samples; }},
    {.name = "unasked", .asked = &TrainConfig::log_params_norm, .of = grad_norm},
    {.name = "terms",
     .terms =
         [](const Seen& s) {
           return std::vector<NamedValue>{{"a", s.step.grad_norm}, {"b", -s.step.grad_norm}};
         },
     .over_interval = OverInterval::mean},
};

// A run whose steps end one second apart. The recorder has these metrics.
class Steps {
 public:
  Steps(RecordedModel& model, std::span<const Metric> metrics, const RunProgress& start = {})
      : state_(start.state), recorder_(model.options, start, 1000, {}, *ranks_, metrics) {
    recorder_.resume();
    start_ = steady_seconds();
  }
  const Record& step(double grad_norm, bool counted = true, double loss = 1) {
    ++state_.iteration, state_.consumed_samples += 4;
    return recorder_.take(
        state_, {.loss = loss, .grad_norm = grad_norm, .counted = counted, .samples = 4, .finished = start_ += 1}, 0);
  }
  RunProgress progress() const { return {state_, recorder_.interval()}; }

 private:
  std::unique_ptr<Ranks> ranks_ = join(Place{});
  RunState state_;
  double start_;
  Recorder recorder_;
};

std::string text(const Record& r) {
  std::string s;
  for (const MetricValue& v : r.values) s += fmt::format("{} {:.4g} {:.4g}, ", v.name, v.now, v.interval);
  return s;
}

TEST(Recorder, reduces_over_the_interval) {
  RecordedModel model;
  Steps run(model, kMetrics);
  EXPECT_TRUE(run.step(100).ends_interval);  // the first iteration of a run
  const Record& second = run.step(2);
  EXPECT_FALSE(second.ends_interval);
  EXPECT_EQ(text(second), "last 2 2, mean 2 2, sum 2 2, max 2 2, each 2 2, rate 2 2, a 2 2, b -2 -2, ");
  EXPECT_EQ(text(run.step(8)), "last 8 8, mean 8 5, sum 8 10, max 8 8, each 8 5, rate 8 5, a 8 5, b -8 -5, ");
  // The step is skipped. Means and maxima exclude it; times include it.
  EXPECT_EQ(text(run.step(20, false)),
            "last 20 20, mean 20 5, sum 20 30, max 20 8, each 20 10, rate 20 10, a 20 5, b -20 -5, ");
}

TEST(Recorder, forgets_the_maximum_of_the_interval_before) {
  RecordedModel model;
  Steps run(model, std::span(kMetrics).subspan(3, 1));
  run.step(100);
  EXPECT_EQ(text(run.step(-2)), "max -2 -2, ");
  EXPECT_EQ(text(run.step(-5)), "max -5 -2, ");
}

TEST(Recorder, knows_no_mean_without_a_step_that_counted) {
  RecordedModel model;
  Steps run(model, kMetrics);
  EXPECT_EQ(text(run.step(3, false)).substr(0, 47), "last 3 3, mean 3 nan, sum 3 3, max 3 nan, each ");
}

TEST(Recorder, counts_iterations_and_losses) {
  RecordedModel model;
  Steps run(model, all_metrics());
  const auto of = [](const Record& r, const std::string& name) {
    const auto it = std::ranges::find(r.values, name, &MetricValue::name);
    return it == r.values.end() ? -1 : it->interval;
  };
  run.step(1);
  run.step(1, true, 2);
  run.step(1, false, NAN);
  run.step(1, false, 1000);
  const Record& r = run.step(1, true, 4);
  EXPECT_EQ(of(r, "lm loss"), 3);
  EXPECT_EQ(of(r, "skipped_iterations"), 2);
  EXPECT_EQ(of(r, "nan_iterations"), 1);
  EXPECT_DOUBLE_EQ(of(r, "iteration_time"), 1);
  EXPECT_DOUBLE_EQ(of(r, "tokens_per_second"), 4 * 32);
  EXPECT_EQ(r.tokens, 4 * 32);
  EXPECT_EQ(of(r, "consumed_tokens"), 20 * 32);
  EXPECT_EQ(of(r, "skipped_samples"), -1);  // the run has none
  EXPECT_EQ(of(r, "params_norm"), -1);      // not requested
  run.step(1, true, INFINITY);
  EXPECT_EQ(of(r, "lm loss"), INFINITY);
  EXPECT_EQ(of(r, "nan_iterations"), 2);  // a step that is not skipped may also have a NaN
}

// A run resumes with the interval in the checkpoint. The next line must be the same as without an interruption.
TEST(Recorder, goes_on_with_an_interval) {
  RecordedModel model;
  Steps whole(model, kMetrics), before(model, kMetrics);
  for (double x : {9, 3, 7}) whole.step(x), before.step(x);
  Steps after(model, kMetrics, before.progress());
  const std::string resumed = text(after.step(2));
  EXPECT_EQ(resumed.substr(0, 42), text(whole.step(2)).substr(0, 42));
  EXPECT_EQ(resumed.substr(0, 42), "last 2 2, mean 2 4, sum 2 12, max 2 7, eac");
  const Record& second = after.step(4);
  EXPECT_FALSE(second.is_first);
  EXPECT_EQ(text(second), "last 4 4, mean 4 4, sum 4 16, max 4 7, each 4 3, rate 4 3, a 4 4, b -4 -4, ");
}

constexpr auto rank_share = [](const Seen& s) -> Maybe { return s.step.data_wait; };
constexpr Metric kShared[] = {
    {.name = "same", .of = [](const Seen&) -> Maybe { return 5; }},
    {.name = "sum", .of = rank_share, .over_ranks = OverRanks::sum},
    {.name = "max", .of = rank_share, .over_ranks = OverRanks::max},
};

TEST(Recorder, reduces_over_the_ranks) {
  RecordedModel model;
  harness::run_ranks(3, [&](Ranks& here) {
    Recorder recorder(model.options, {}, 1, {}, here, kShared);
    EXPECT_TRUE(recorder.speaks());
    const double share = here.rank() == 1 ? 4 : 1;
    const Record& r = recorder.take({.iteration = 1}, {.data_wait = share, .finished = 1}, 0);
    EXPECT_EQ(text(r), "same 5 5, sum 6 6, max 4 4, ");
  });
}

// The norm is already reduced over all ranks, so the recorder does not exchange it.
TEST(Recorder, speaks_only_for_metrics_that_need_it) {
  const RecordedModel model;
  Options more = model.options, most = more;
  more.train.log_params_norm = most.train.log_memory_to_tensorboard = true;
  harness::run_ranks(2, [&](Ranks& here) {
    const Recorder plain(model.options, {}, 1, {}, here), norm(more, {}, 1, {}, here), memory(most, {}, 1, {}, here);
    EXPECT_FALSE(plain.speaks() || norm.speaks());
    EXPECT_TRUE(memory.speaks());
  });
}

TEST(Metrics, have_a_name_each_and_a_place) {
  for (const Metric& m : all_metrics()) {
    EXPECT_EQ(std::ranges::count(all_metrics(), m.name, &Metric::name), 1) << m.name;
    EXPECT_NE(bool(m.of), bool(m.terms)) << m.name;
    EXPECT_FALSE(m.console.name.empty() && m.file.name.empty() && m.tensorboard.name.empty()) << m.name;
  }
  for (const auto& order : {first_in_metrics_file(), first_in_tensorboard()})
    for (std::string_view name : order) metric_named(std::string(name));
}

}  // namespace
}  // namespace megalith
