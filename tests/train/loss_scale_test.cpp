// Compares the loss scale of real steps, some with overflows, with its definition in Megatron Core.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/loader.h"
#include "exec/cpu/backend.h"
#include "passes/gradients.h"
#include "settings/batch_sizes.h"
#include "settings/precision.h"
#include "settings/schedules.h"
#include "small_run.h"
#include "step/model_state.h"
#include "tests/harness/thread_ranks.h"
#include "tests/harness/wrapped_interpreter.h"
#include "train/evaluation.h"

namespace megalith {
namespace {

// Writes an infinity or a NaN into one rank's gradient, in some steps, before the last program.
class Injecting final : public test::WrappedInterpreter {
 public:
  Injecting(std::unique_ptr<Interpreter> real, const Plan& plan, std::map<i64, float> at)
      : WrappedInterpreter(std::move(real)), plan_(plan), at_(std::move(at)) {
    last_ = plan.index_of(plan.find_program("update") ? "update" : "last-micro-batch");
  }
  void run(int program, bool first, int slot) override {
    if (program == last_ && at_.contains(++step_)) {
      const Leaf& leaf = plan_.leaf(gradient_name("decoder.layers.1.mlp.linear_fc2.weight"));
      write_part(leaf, 40, std::as_bytes(std::span(&at_[step_], 1)));
    }
    real_->run(program, first, slot);
  }

 private:
  const Plan& plan_;
  std::map<i64, float> at_;
  int last_;
  i64 step_ = 0;
};

// The definition of the dynamic loss scale, from section 5 of the reference fp8.md.
struct Defined {
  double scale, least;
  i64 window, hysteresis, clean = 0, left = hysteresis;
  void step(bool found_inf) {
    if (found_inf) {
      clean = 0, left -= 1;
      if (left <= 0) scale = std::max(scale / 2, least);
    } else {
      clean += 1;
      if (clean == window) clean = 0, left = hysteresis, scale *= 2;
    }
  }
};

struct ScaledSteps {
  std::vector<bool> counted;
  std::vector<double> scales, squares, losses;  // after each step
  RunState state;
};

ScaledSteps train_rank(Ranks& ranks, const Options& options, i64 steps, const std::map<i64, float>& injected) {
  const auto backend = make_cpu_backend(&ranks);
  const Mesh mesh = step_spec(options).mesh;
  const Coord coord = mesh.coord(ranks.rank());
  const PlannedStep step = plan_step(step_spec(options, int(mesh.place(coord, groups::pipeline))), *backend);
  Injecting device(backend->make_interpreter(step.plan, coord), step.plan, injected);
  ModelState model(step, device, coord);
  model.initialise(7);
  Trainer trainer(step, device, coord, options.optimizer, make_schedules(options));
  DataLoader loader(build_datasets(options.data, {.train = 4 * steps}).train,
                    rank_loader_config(options, mesh, coord, Split::train, 0));
  ScaledSteps out;
  for (i64 i = 0; i < steps; ++i) {
    trainer.start_step(loader, micro_batches(options), out.state);
    const StepResult r = trainer.finish_step(out.state);
    out.counted.push_back(r.counted), out.scales.push_back(r.loss_scale);
    out.squares.push_back(model.squares()), out.losses.push_back(r.loss);
  }
  return out;
}

// The steps of each rank. Numbers are injected on the last rank.
std::vector<ScaledSteps> train_ranks(int n, const std::string& flags, i64 steps,
                                     const std::map<i64, float>& injected = {}) {
  const Options options =
      options_for(n, "--micro-batch-size 1 --global-batch-size 4 --lr-decay-style constant --fp16 " + flags);
  std::vector<ScaledSteps> out{size_t(n)};
  harness::run_ranks(n, [&](Ranks& ranks) {
    const bool last = ranks.rank() == n - 1;
    out[size_t(ranks.rank())] = train_rank(ranks, options, steps, last ? injected : std::map<i64, float>());
  });
  return out;
}

ScaledSteps train(const std::string& flags, i64 steps, const std::map<i64, float>& injected = {}) {
  return train_ranks(1, flags, steps, injected)[0];
}

// Checks that weights change in exactly the steps that are not skipped. Returns the number of skipped steps.
i64 follows(const ScaledSteps& s, Defined want) {
  i64 skipped = 0;
  for (size_t i = 0; i < s.counted.size(); ++i) {
    want.step(!s.counted[i]);
    EXPECT_EQ(s.scales[i], want.scale) << "step " << i + 1;
    EXPECT_TRUE(std::isfinite(s.losses[i]));
    if (i > 0 && s.squares[i] > 0)  // the squared norm that this rank computes
      EXPECT_EQ(s.squares[i] == s.squares[i - 1], !s.counted[i]) << "step " << i + 1;
    skipped += !s.counted[i];
  }
  EXPECT_EQ(s.state.skipped_iterations, skipped);
  EXPECT_EQ(s.state.optimizer_steps, i64(s.counted.size()) - skipped);
  EXPECT_EQ(s.state.loss_scale->clean, want.clean);
  EXPECT_EQ(s.state.loss_scale->left, want.left);
  return skipped;
}

TEST(LossScale, falls_from_a_huge_start_to_what_fits) {
  const ScaledSteps s = train("--initial-loss-scale 1099511627776", 40);
  EXPECT_GE(follows(s, {.scale = 0x1p40, .least = 1, .window = 1000, .hysteresis = 2}), 10);
  EXPECT_TRUE(s.counted.back());
}

// The scale grows until a gradient overflows. After hysteresis it falls, and then it grows again.
TEST(LossScale, finds_its_height_again_and_again) {
  const ScaledSteps s = train("--initial-loss-scale 65536 --loss-scale-window 2 --hysteresis 3", 120);
  EXPECT_GE(follows(s, {.scale = 65536, .least = 1, .window = 2, .hysteresis = 3}), 6);
  EXPECT_GT(*std::ranges::max_element(s.scales), 65536);
}

TEST(LossScale, knows_a_number_that_is_put_into_one_gradient) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::map<i64, float> injected = {{3, kInf}, {4, -kInf}, {7, std::nanf("")}, {12, kInf}};
  const ScaledSteps s = train("--initial-loss-scale 1024 --loss-scale-window 3 --min-loss-scale 512", 14, injected);
  EXPECT_EQ(follows(s, {.scale = 1024, .least = 512, .window = 3, .hysteresis = 2}), 4);
  for (const auto& [step, number] : injected) EXPECT_FALSE(s.counted[size_t(step - 1)]) << number;
}

// One gradient on one rank has a non-finite value. All ranks skip the step and change the scale equally.
TEST(LossScale, is_one_for_all_ranks) {
  const std::map<i64, float> injected = {
      {2, std::nanf("")}, {3, std::numeric_limits<float>::infinity()}, {6, std::nanf("")}};
  for (const auto& [ranks, layout] : {std::pair(4, "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2"),
                                      {2, "--pipeline-model-parallel-size 2 --use-distributed-optimizer"},
                                      {4, "--context-parallel-size 2 --use-distributed-optimizer"},
                                      {2, "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"},
                                      {2, ""}}) {
    SCOPED_TRACE(layout);
    const std::string scale = "--initial-loss-scale 1024 --loss-scale-window 2 ";
    const std::vector<ScaledSteps> all = train_ranks(ranks, scale + layout, 8, injected);
    for (const ScaledSteps& rank : all) {
      EXPECT_EQ(follows(rank, {.scale = 1024, .least = 1, .window = 2, .hysteresis = 2}), 3);
      EXPECT_EQ(rank.losses, all[0].losses);
    }
  }
}

TEST(LossScale, stays_where_it_is_constant) {
  const ScaledSteps s = train("--loss-scale 4096", 6, {{2, std::nanf("")}});
  EXPECT_EQ(s.scales, std::vector<double>(6, 4096));
  EXPECT_EQ(s.counted, (std::vector<bool>{true, false, true, true, true, true}));
  EXPECT_FALSE(s.state.loss_scale);
}

TEST(LossScale, is_that_of_a_mean_loss) {
  EXPECT_EQ(loss_scaling_of(options_for(1, "--global-batch-size 4 --fp16"))->unit, 1.0 / 128);
  EXPECT_EQ(loss_scaling_of(options_for(1, "--global-batch-size 6 --fp16"))->unit, 1.0 / 256);
  EXPECT_FALSE(loss_scaling_of(options_for(1, "--bf16")));
  EXPECT_TRUE(loss_scaling_of(options_for(1, "--bf16 --loss-scale 8"))->constant);
}

}  // namespace
}  // namespace megalith
