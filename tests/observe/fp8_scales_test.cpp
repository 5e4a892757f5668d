// Compares the reported values of delayed scaling with the state after each step.
#include "observe/fp8_scales.h"

#include <gtest/gtest.h>

#include "data/loader.h"
#include "exec/cpu/backend.h"
#include "ops/delayed_scale.h"
#include "passes/gradients.h"
#include "settings/batch_sizes.h"
#include "settings/schedules.h"
#include "step/model_state.h"
#include "tests/harness/thread_ranks.h"
#include "tests/train/small_run.h"
#include "train/evaluation.h"

namespace megalith {
namespace {

constexpr int kScaledSteps = 5;

// Checks the statistics of a step's casts against the states before and after it.
void expect_health(const Fp8Health& health, const std::vector<std::vector<float>>& before,
                   const std::vector<std::vector<float>>& behind) {
  double nearest = 0, least = INFINITY, most = 0;
  for (size_t l = 0; l < before.size(); ++l)
    for (size_t t = 0; t < size_t(kTensorsOfLayer); ++t) {
      const double scale = before[l][t], amax = behind[l][behind[l].size() - size_t(kTensorsOfLayer) + t];
      if (scale == 0) continue;
      const double top = t == 2 ? 57344 : 448;
      nearest = std::max(nearest, amax * scale / top);
      least = std::min(least, scale), most = std::max(most, scale);
    }
  EXPECT_NEAR(health.amax / health.threshold, nearest, 1e-12 * nearest);
  EXPECT_EQ(health.scale_min, least);
  EXPECT_EQ(health.scale_max, most);
}

void train_rank(Ranks& ranks, const Options& o) {
  const auto backend = make_cpu_backend(&ranks);
  const Mesh mesh = step_spec(o).mesh;
  const Coord coord = mesh.coord(ranks.rank());
  const PlannedStep step = plan_step(step_spec(o, int(mesh.place(coord, groups::pipeline))), *backend);
  const auto device = backend->make_interpreter(step.plan, coord);
  ModelState(step, *device, coord).initialise(7);
  std::vector<std::string> layers;
  for (const ScaleStates& states : step.scales) layers.insert(layers.end(), states.names.begin(), states.names.end());
  ASSERT_FALSE(layers.empty());
  const auto states = [&] {
    std::vector<std::vector<float>> all;
    for (const std::string& name : layers) {
      const Leaf& leaf = step.plan.leaf(name);
      device->read(leaf, all.emplace_back(size_t(leaf.type.elements())).data());
    }
    return all;
  };
  Trainer trainer(step, *device, coord, o.optimizer, make_schedules(o));
  DataLoader loader(build_datasets(o.data, {.train = 16 * kScaledSteps}).train,
                    rank_loader_config(o, mesh, coord, Split::train, 0));
  RunState state;
  std::optional<Fp8Scales> scales(std::in_place, step, *device, o.quantize);
  for (int i = 0; i < kScaledSteps; ++i) {
    if (i == 3) scales.emplace(step, *device, o.quantize);  // as in a resumed run
    const auto before = states();
    trainer.start_step(loader, micro_batches(o), state);
    const StepResult r = trainer.finish_step(state);
    ASSERT_TRUE(r.counted);
    const Fp8Health health = scales->take(r.amax);
    const auto behind = states();
    for (size_t l = 0; l < layers.size(); ++l) EXPECT_EQ(scales->state(l), behind[l]) << layers[l] << " " << i;
    if (i > 0) expect_health(health, before, behind);
    if (i == 0) EXPECT_EQ(health.threshold, 0);  // no tensor has a scale yet
  }
}

TEST(Fp8Scales, AreTheDevices) {
  const std::string fp8 = "--bf16 --fp8-format hybrid --prometheus-port 0 --global-batch-size 8 ";
  struct Case {
    int ranks;
    const char* flags;
  };
  for (const auto& [ranks, flags] : {Case{1, "--fp8-amax-history-len 2 --fp8-margin 1"},
                                     Case{1, "--fp8-amax-history-len 3 --fp8-amax-compute-algo most_recent"},
                                     Case{2, "--fp8-amax-history-len 2 --use-distributed-optimizer"},
                                     Case{2, "--fp8-amax-history-len 2 --tensor-model-parallel-size 2 --fp8-margin 2"},
                                     Case{2,
                                          "--fp8-amax-history-len 2 --pipeline-model-parallel-size 2 --num-layers 4 "
                                          "--num-layers-per-virtual-pipeline-stage 1"}}) {
    SCOPED_TRACE(flags);
    const Options o = options_for(ranks, fp8 + flags);
    harness::run_ranks(ranks, [&](Ranks& r) { train_rank(r, o); });
  }
}

// With the algorithm max, the maximum of the amax window determines which tensor uses most of its range.
TEST(Fp8Scales, ComeFromTheWindow) {
  const Options o = options_for(1,
                                "--bf16 --fp8-format hybrid --prometheus-port 0 --fp8-amax-history-len 4 "
                                "--fp8-amax-compute-algo max --fp8-margin 1");
  const auto backend = make_cpu_backend();
  const PlannedStep step = plan_step(step_spec(o), *backend);
  const auto device = backend->make_interpreter(step.plan, Coord{});
  ModelState(step, *device).initialise(7);
  Fp8Scales scales(step, *device, o.quantize);
  std::vector<double> amax(size_t(kTensorsOfLayer) * step.scales[0].names.size(), 1.0);
  EXPECT_EQ(scales.take(amax).threshold, 0);
  amax[0] = 8;
  Fp8Health health = scales.take(amax);  // the scale allows values up to 2
  EXPECT_EQ(health.amax, 8);
  EXPECT_EQ(health.threshold, 2);
  EXPECT_EQ(health.kinds.size(), size_t(kTensorsOfLayer * (1 + options_for(1, "").model.num_layers)));
  const auto kind = [&](const char* name, i64 layer) {
    const auto is = [&](const Fp8Kind& k) { return k.kind == std::string_view(name) && k.layer == layer; };
    const auto it = std::ranges::find_if(health.kinds, is);
    return it == health.kinds.end() ? Fp8Kind{} : *it;
  };
  for (const i64 layer : {-1, 0}) EXPECT_EQ(kind("x", layer).fullest, 4) << layer;  // amax[0]: of x in layer 0
  EXPECT_EQ(kind("x", 1).fullest, 0.5);
  const std::vector<NamedValue> told = fp8_values(health);
  const auto value = [&](const char* name) {
    const auto it = std::ranges::find(told, name, &NamedValue::name);
    return it == told.end() ? -1 : it->value;
  };
  EXPECT_EQ(value("fp8_amax_history_max"), 8);
  EXPECT_EQ(value("fp8_amax_history_threshold"), 2);
  EXPECT_EQ(value("fp8_scale_min"), health.scale_min);
  EXPECT_EQ(value("fp8_fullest_x_layer_0"), 4);
  EXPECT_EQ(value("fp8_fullest_dy_layer_1"), 0.5);
  EXPECT_TRUE(fp8_values(Fp8Health{}).empty());
  amax[0] = 1;
  for (int i = 0; i < 2; ++i) {
    health = scales.take(amax);
    EXPECT_EQ(health.amax / health.threshold, 0.5);
    EXPECT_EQ(health.scale_min, 448 / 16.0);
  }
  amax[0] = 1e-9;
  amax[1] = 0;  // this tensor was not cast
  health = scales.take(amax);
  EXPECT_EQ(kind("x", 0).fullest, 0.5);
}

// Without these metrics the plans do not change.
TEST(Fp8Scales, AreToldWhereSomethingKeepsThem) {
  const auto backend = make_cpu_backend();
  const auto tells = [&](const std::string& flags) {
    const PlannedStep step = plan_step(step_spec(options_for(1, "--bf16 " + flags)), *backend);
    const auto& outputs = step.plan.program("last-micro-batch").outputs;
    return std::ranges::any_of(outputs, [](const auto& o) { return o.first.starts_with("fp8_amax"); });
  };
  EXPECT_TRUE(tells("--fp8-format hybrid --prometheus-port 0"));
  EXPECT_TRUE(tells("--fp8-format hybrid --metrics-file m.jsonl"));
  EXPECT_TRUE(tells("--fp8-format hybrid --tensorboard-dir tb"));
  EXPECT_FALSE(tells("--fp8-format hybrid"));
  EXPECT_FALSE(tells("--fp8-format hybrid --fp8-recipe tensorwise --prometheus-port 0"));
  EXPECT_FALSE(tells("--prometheus-port 0"));
}

}  // namespace
}  // namespace megalith
