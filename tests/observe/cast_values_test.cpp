// Tests of the shares of values that casts to codes lose, by saturation and underflow: under several layouts, and by
// metric name.
#include "observe/cast_values.h"

#include <gtest/gtest.h>

#include <mutex>

#include "data/loader.h"
#include "exec/cpu/backend.h"
#include "passes/gradients.h"
#include "settings/batch_sizes.h"
#include "settings/schedules.h"
#include "step/model_state.h"
#include "tests/harness/thread_ranks.h"
#include "tests/train/small_run.h"
#include "train/evaluation.h"

namespace megalith {
namespace {

// Multiplies the first channel of the first norm's output by `by`.
void scale_channel(const PlannedStep& step, Interpreter& device, float by) {
  for (const Parameter& p : step.parameters)
    if (p.name.find("layers.0.") != p.name.npos && p.name.find("norm") != p.name.npos && p.name.ends_with("weight")) {
      const Leaf& leaf = step.plan.leaf(p.name);
      std::vector<bf16> w(size_t(leaf.type.elements()));
      ASSERT_EQ(leaf.type.dtype, DType::bf16);
      device.read(leaf, w.data());
      w[0] = bf16(by * float(w[0]));
      device.write(leaf, w.data());
      return;
    }
  FAIL() << "no norm";
}

// The casts of a step in all pipeline stages. One rank of each stage gives them.
std::vector<CastLoss> casts_of(int n, const std::string& flags, float first_channel = 1) {
  const Options o = options_for(n, "--bf16 --prometheus-port 0 --global-batch-size 8 " + flags);
  std::map<int, std::vector<CastLoss>> of_stage;
  std::mutex mutex;
  harness::run_ranks(n, [&](Ranks& ranks) {
    const auto backend = make_cpu_backend(&ranks);
    const Mesh mesh = step_spec(o).mesh;
    const Coord coord = mesh.coord(ranks.rank());
    const int stage = int(mesh.place(coord, groups::pipeline));
    const PlannedStep step = plan_step(step_spec(o, stage), *backend);
    const auto device = backend->make_interpreter(step.plan, coord);
    ModelState(step, *device, coord).initialise(7);
    if (first_channel != 1) scale_channel(step, *device, first_channel);
    Trainer trainer(step, *device, coord, o.optimizer, make_schedules(o));
    DataLoader loader(build_datasets(o.data, {.train = 32}).train, rank_loader_config(o, mesh, coord, Split::train, 0));
    RunState state;
    trainer.start_step(loader, micro_batches(o), state);
    const std::vector<CastLoss> casts = trainer.finish_step(state).casts;
    const std::lock_guard lock(mutex);
    const auto [it, is_first] = of_stage.try_emplace(stage, casts);
    for (size_t k = 0; k < casts.size() && !is_first; ++k) {  // all ranks of a stage have the sums
      EXPECT_EQ(it->second.at(k).saturated, casts[k].saturated) << casts[k].layer;
      EXPECT_EQ(it->second.at(k).underflow, casts[k].underflow) << casts[k].layer;
      EXPECT_EQ(it->second.at(k).values, casts[k].values) << casts[k].layer;
    }
  });
  std::vector<CastLoss> out;
  for (const auto& [stage, casts] : of_stage) out.insert(out.end(), casts.begin(), casts.end());
  return out;
}

const CastLoss* same_tensor(std::span<const CastLoss> casts, const CastLoss& as) {
  for (const CastLoss& c : casts)
    if (c.layer == as.layer && std::string_view(c.kind) == as.kind) return &c;
  return nullptr;
}

}  // namespace

// Under every layout each activation and gradient counts once. Weights count once per micro-batch of a rank, and lose
// the same share. Layouts with other ranks lose a different share, because ranks round sums differently.
TEST(CastValues, every_value_counts_once) {
  for (const char* recipe : {"--fp8-recipe tensorwise", "--fp8-amax-history-len 2"}) {
    const std::string fp8 = std::string("--fp8-format hybrid --num-layers 4 ") + recipe;
    const std::vector<CastLoss> one = casts_of(1, fp8);
    ASSERT_FALSE(one.empty());
    for (const char* layout : {"--tensor-model-parallel-size 2", "--tensor-model-parallel-size 2 --sequence-parallel",
                               "", "--context-parallel-size 2", "--pipeline-model-parallel-size 2",
                               "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1"}) {
      SCOPED_TRACE(fp8 + " " + layout);
      const std::vector<CastLoss> got = casts_of(2, fp8 + " " + layout);
      ASSERT_EQ(got.size(), one.size());
      double lost = 0;
      for (const CastLoss& want : one) {
        const CastLoss* c = same_tensor(got, want);
        ASSERT_TRUE(c) << want.layer << " " << want.kind;
        lost += c->underflow;
        if (want.kind == std::string_view("w"))
          EXPECT_EQ(c->underflow / c->values, want.underflow / want.values) << want.layer;
        else
          EXPECT_EQ(c->values, want.values) << want.layer << " " << want.kind;
      }
      EXPECT_GT(lost, 0);
    }
  }
}

// One channel of the first norm is 4096 times as large. The tensor's scale is 448 / (4096 * 3.2). With it, values of a
// normal distribution below 0.029 become 0: 2.3%. They are in the input of q, k and v, a third of a layer's x.
TEST(CastValues, an_outlier_is_told) {
  const auto share = [](const char* flags, float channel) {
    for (const NamedValue& v : cast_values(casts_of(1, flags, channel)))
      if (v.name == "fp8_underflow_x_layer_0") return v.value;
    return -1.0;
  };
  for (const char* flags : {"--fp8-format hybrid --fp8-recipe tensorwise", "--fp8-format hybrid"}) {
    EXPECT_LT(share(flags, 1), 1e-3) << flags;
    EXPECT_NEAR(share(flags, 4096), 0.023 / 3, 0.004) << flags;
  }
}

TEST(CastValues, have_names_by_kind_and_layer) {
  const std::vector<CastLoss> casts = {{"decoder.layers.0.mlp.linear_fc1.weight", "x", 1, 2, 10},
                                       {"decoder.layers.0.mlp.linear_fc2.weight", "x", 3, 0, 10},
                                       {"decoder.layers.12.mlp.linear_fc2.weight", "x", 0, 0, 20},
                                       {"mtp.layers.0.eh_proj.weight", "dy", 0, 8, 10}};
  const std::vector<NamedValue> told = cast_values(casts);
  const auto value = [&](const char* name) {
    const auto it = std::ranges::find(told, name, &NamedValue::name);
    return it == told.end() ? -1 : it->value;
  };
  EXPECT_EQ(value("fp8_saturated"), 4 / 50.0);
  EXPECT_EQ(value("fp8_underflow"), 10 / 50.0);
  EXPECT_EQ(value("fp8_saturated_x"), 4 / 40.0);
  EXPECT_EQ(value("fp8_underflow_dy"), 0.8);
  EXPECT_EQ(value("fp8_saturated_x_layer_0"), 4 / 20.0);
  EXPECT_EQ(value("fp8_saturated_x_layer_12"), 0);
  EXPECT_EQ(value("fp8_underflow_dy_layer_0"), -1);  // not in a decoder layer
  EXPECT_EQ(told.size(), 2u * (1 + 2 + 2));
  EXPECT_TRUE(cast_values({}).empty());
}

// Casts are counted only if some sink records the counts.
TEST(CastValues, are_counted_where_something_keeps_them) {
  const auto backend = make_cpu_backend();
  const auto counted = [&](const std::string& flags) {
    return plan_step(step_spec(options_for(1, "--bf16 " + flags)), *backend).counts.size();
  };
  EXPECT_EQ(counted("--fp8-format hybrid --prometheus-port 0"), 1u);
  EXPECT_EQ(counted("--fp8-format hybrid --fp8-recipe tensorwise --metrics-file m.jsonl"), 1u);
  EXPECT_EQ(counted("--fp8-format hybrid"), 0u);
  EXPECT_EQ(counted("--prometheus-port 0"), 0u);
}

}  // namespace megalith
