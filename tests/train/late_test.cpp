// On an asynchronous device a run must log and write exactly the same as on a synchronous one.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "data/loader.h"
#include "late_backend.h"
#include "scripted_device.h"
#include "settings/schedules.h"
#include "tests/harness/wrapped_interpreter.h"
#include "told_run.h"

namespace megalith {
namespace {

class LateRuns : public testing::TestWithParam<const char*> {};

TEST_P(LateRuns, TellTheSame) {
  const Told now = run(GetParam(), *make_cpu_backend()), late = run(GetParam(), LateBackend());
  EXPECT_NE(now.out.find(" iteration "), std::string::npos) << now.out << now.err << now.error;
  EXPECT_EQ(now.out, late.out);
  EXPECT_EQ(now.err, late.err);
  EXPECT_EQ(now.metrics, late.metrics);
  EXPECT_EQ(now.error, late.error);
  EXPECT_TRUE(now.checkpoint == late.checkpoint);
  EXPECT_FALSE(now.checkpoint.empty());
}

INSTANTIATE_TEST_SUITE_P(Flags, LateRuns,
                         testing::Values("--save-interval 4 --lr-warmup-iters 3 --lr-decay-style cosine",
                                         "--save-interval 100 --global-batch-size 6 --eval-interval 3 --eval-iters 2",
                                         "--save-interval 100 --exit-interval 7 --bf16",
                                         "--save-interval 3 --lr 1e30 --clip-grad 0 --lr-decay-style constant",
                                         "--save-interval 5 --log-params-norm --log-num-zeros-in-grad",
                                         "--save-interval 100 --train-iters 1",
                                         "--save-interval 100 --profile --profile-step-end 2 --profile-step-start 1"));

TEST(LateRuns, ProfileTheStepsAskedFor) {
  const auto profiled = [](const std::string& flags) {
    const LateBackend backend;
    EXPECT_EQ(run("--save-interval 100 --profile " + flags, backend).error, "");
    return backend.profiled;
  };
  EXPECT_EQ(profiled("--profile-step-start 3 --profile-step-end 5"), (std::vector<int>{3, -5}));
  EXPECT_EQ(profiled("--profile-step-start 0 --profile-step-end 1"), (std::vector<int>{0, -1}));
  EXPECT_EQ(profiled("--profile-step-start 8 --profile-step-end 20"), (std::vector<int>{8, -10}));  // the run's end
  EXPECT_EQ(profiled("--profile-step-start 20 --profile-step-end 30"), (std::vector<int>{}));
}

// A step ends when its results arrive. They are read later, after the next step has started.
TEST(LateRuns, TimeStepsByWhenTheyEnd) {
  class Interpreter final : public test::WrappedInterpreter {
   public:
    using WrappedInterpreter::WrappedInterpreter;
    double arrived(int ticket) override { return begin_ + 1000.0 * ticket; }
    double begin_ = steady_seconds();
  };
  class Backend final : public test::WrappedBackend {
   public:
    Backend() : WrappedBackend(make_cpu_backend()) {}
    std::unique_ptr<megalith::Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
      return std::make_unique<Interpreter>(real_->make_interpreter(plan, coord));
    }
  };
  const Told told = run("--save-interval 100 --eval-iters 0", Backend());
  EXPECT_EQ(told.error, "");
  const std::regex time(R"re("iteration_ms":([0-9.]+))re");
  std::vector<double> ms;
  for (std::sregex_iterator it(told.timed.begin(), told.timed.end(), time), end; it != end; ++it)
    ms.push_back(std::stod((*it)[1]));
  ASSERT_EQ(ms.size(), 6);  // for iterations 1, 2, 4, 6, 8, 10
  for (size_t i = 1; i < ms.size(); ++i) EXPECT_NEAR(ms[i], 1e6, 0.01) << i;
}

// A skipped step advances neither the schedules nor Adam's corrections. The next step may start before the skip is
// known.
TEST(Trainer, RatesFollowTheStepsThatCounted) {
  const Options options =
      options_of(std::string(kSmallRun) + "--vocab-size 101 --lr-warmup-iters 4 --weight-decay 0.1");
  const PlannedStep step = plan_step(step_spec(options), *make_cpu_backend());
  Options data = options;
  data.data.eod = 100, data.data.seq_length = 32, data.data.vocab_size = 101;
  const auto set = build_datasets(data.data, {.train = 100}).train;
  const std::vector<bool> counts = {true, false, true, false, false, true, true};
  const auto train = [&](bool late) {
    ScriptedInterpreter device(counts, late);
    Trainer trainer(step, device, Coord{}, options.optimizer, make_schedules(options));
    DataLoader loader(set, {.micro_batch_size = 2});
    RunState state;
    for (size_t i = 0; i < counts.size(); ++i) {
      trainer.start_step(loader, 1, state);
      while (trainer.started() > (late ? 1 : 0)) trainer.finish_step(state);
    }
    while (trainer.started() > 0) EXPECT_EQ(trainer.finish_step(state).counted, counts[size_t(state.iteration - 1)]);
    EXPECT_EQ(state.optimizer_steps, 4);
    EXPECT_EQ(state.skipped_iterations, 3);
    EXPECT_EQ(state.schedule_samples, 8);
    EXPECT_EQ(state.consumed_samples, 14);
    EXPECT_EQ(device.waits_for_results, late);
    return device.step_scalars_in;
  };
  const std::vector<double> at_once = train(false);
  EXPECT_EQ(at_once, train(true));
  ASSERT_EQ(at_once.size(), counts.size() * 4);
  EXPECT_EQ(at_once[1 * 4], at_once[2 * 4]);  // the second step was skipped
  EXPECT_LT(at_once[0], at_once[4]);
}

}  // namespace
}  // namespace megalith
