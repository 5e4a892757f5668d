// Weights are cast to codes in a step's first micro-batch. The step has the bits of one that casts them in each.
#include <gtest/gtest.h>

#include "data/loader.h"
#include "exec/cpu/backend.h"
#include "memory_machine.h"
#include "ops/quantize.h"
#include "planner/plan_report.h"
#include "settings/batch_sizes.h"
#include "small_run.h"
#include "step/model_state.h"
#include "step/trainer.h"
#include "tests/harness/thread_ranks.h"
#include "train/evaluation.h"
#include "train/plan_alike.h"

namespace megalith {
namespace {

constexpr int kCastSteps = 3;
const std::string kCodes = "--bf16 --fp8-format hybrid --global-batch-size 16 --prometheus-port 0 ";

// Of one rank: losses, gradient norms, lost values, and the bytes of the weights.
struct Trained {
  std::vector<double> numbers;
  std::vector<std::vector<std::byte>> weights;
  i64 once = 0;  // bytes that are computed once a step
  bool operator==(const Trained& o) const { return numbers == o.numbers && weights == o.weights; }
};

Trained train_rank(Ranks& ranks, const Options& o, bool casts_once) {
  const auto backend = make_cpu_backend(&ranks);
  const Mesh mesh = step_spec(o).mesh;
  const Coord coord = mesh.coord(ranks.rank());
  StepSpec spec = step_spec(o, int(mesh.place(coord, groups::pipeline)));
  spec.casts_once = casts_once;
  const PlannedStep step = plan_step(spec, *backend);
  const auto device = backend->make_interpreter(step.plan, coord);
  ModelState(step, *device, coord).initialise(7);
  Trainer trainer(step, *device, coord, o.optimizer, make_schedules(o));
  DataLoader loader(build_datasets(o.data, {.train = 16 * kCastSteps}).train,
                    rank_loader_config(o, mesh, coord, Split::train, 0));
  RunState state;
  Trained out;
  out.once = step.plan.bytes(Role::once);
  for (int i = 0; i < kCastSteps; ++i) {
    trainer.start_step(loader, micro_batches(o), state);
    const StepResult r = trainer.finish_step(state);
    EXPECT_TRUE(r.counted);
    out.numbers.insert(out.numbers.end(), {r.loss, r.grad_norm});
    out.numbers.insert(out.numbers.end(), r.amax.begin(), r.amax.end());
    for (const CastLoss& c : r.casts) out.numbers.insert(out.numbers.end(), {c.saturated, c.underflow});
  }
  for (const Parameter& p : step.parameters) {
    const Leaf& leaf = step.plan.leaf(p.name);
    device->read(leaf, out.weights.emplace_back(size_t(leaf.bytes)).data());
  }
  return out;
}

std::vector<Trained> train_all(int ranks, const Options& o, bool casts_once) {
  std::vector<Trained> out(size_t(ranks), Trained{});
  harness::run_ranks(ranks, [&](Ranks& r) { out[size_t(r.rank())] = train_rank(r, o, casts_once); });
  return out;
}

}  // namespace

TEST(CastOnce, HasTheBitsOfCastsInEachMicroBatch) {
  struct Case {
    int ranks;
    const char* flags;
  };
  const char *sharded = "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather ",
             *experts = "--fp8-recipe tensorwise --swiglu --disable-bias-linear --num-experts 4 --moe-router-topk 2 ";
  for (const auto& [ranks, flags] :
       {Case{1, "--fp8-recipe delayed --fp8-amax-history-len 2"}, Case{1, "--fp8-recipe tensorwise"},
        Case{1, "--fp8-recipe mxfp8"}, Case{1, "--fp8-recipe tensorwise --recompute-granularity full"},
        Case{1, experts}, Case{2, "--fp8-recipe delayed --tensor-model-parallel-size 2 --sequence-parallel"},
        Case{2,
             "--fp8-recipe tensorwise --pipeline-model-parallel-size 2 --num-layers 4 "
             "--num-layers-per-virtual-pipeline-stage 1"},
        Case{2, "--fp8-recipe delayed --pipeline-model-parallel-size 2 --pipeline-schedule zero-bubble"},
        Case{2, sharded}}) {
    SCOPED_TRACE(flags);
    const Options o = options_for(ranks, kCodes + flags);
    const std::vector<Trained> once = train_all(ranks, o, true), again = train_all(ranks, o, false);
    for (size_t r = 0; r < once.size(); ++r) {
      EXPECT_GT(once[r].once, 0);
      EXPECT_EQ(again[r].once, 0);
      EXPECT_TRUE(once[r] == again[r]) << "rank " << r;
    }
    EXPECT_FALSE(once[0].weights.empty());
  }
}

// The casts of both programs' weights. Those of other values run in each micro-batch.
TEST(CastOnce, IsOfWeightsOnly) {
  const Options o = options_for(1, kCodes + "--fp8-recipe tensorwise");
  const PlannedStep step = plan_step(step_spec(o), *make_cpu_backend());
  i64 once = 0, again = 0;
  for (const Instruction& in : step.plan.program("micro-batch").instructions)
    if (in.op.get_if<Quantize>()) (in.first_only ? once : again) += 1;
  const i64 layers = step.quantized.layers;
  EXPECT_EQ(once, layers);
  EXPECT_GE(again, layers);  // of dy; layers may share x
  for (const Instruction& in : step.plan.program("evaluate").instructions) EXPECT_FALSE(in.first_only);
}

// One micro-batch a step has nothing to gain.
TEST(CastOnce, NeedsSeveralMicroBatchesAndCodes) {
  const auto once = [](const std::string& flags) {
    return plan_step(step_spec(options_for(1, flags)), *make_cpu_backend()).plan.bytes(Role::once);
  };
  EXPECT_GT(once("--bf16 --fp8-format hybrid --global-batch-size 4"), 0);
  EXPECT_EQ(once("--bf16 --fp8-format hybrid --global-batch-size 2"), 0);
  EXPECT_EQ(once("--bf16 --global-batch-size 4"), 0);
}

// Less memory than the codes need, but enough for a step that casts in each micro-batch.
TEST(CastOnce, IsLeftOutWhereMemoryDoesNotSuffice) {
  const Options o = options_for(1, kCodes);
  Memory machine;
  machine.memory = i64{1} << 40;
  const PlannedStep ample = plan_step(step_spec(o), machine);
  EXPECT_FALSE(ample.casts_again);
  StepSpec spec = step_spec(o);
  spec.casts_once = false;
  const i64 least = plan_step(spec, machine).plan.arena_bytes;
  ASSERT_GT(ample.plan.arena_bytes, least);
  machine.memory = least + machine.fixed_bytes() + (i64{512} << 20);
  const PlannedStep scarce = plan_step(step_spec(o), machine);
  EXPECT_TRUE(scarce.casts_again);
  EXPECT_EQ(scarce.plan.bytes(Role::once), 0);
  EXPECT_EQ(scarce.plan.arena_bytes, least);
  EXPECT_NE(plan_report(o, scarce, {}).find("weights are cast in each micro-batch"), std::string::npos);
  EXPECT_NE(plan_report(o, ample, {}).find("weights are cast once a step"), std::string::npos);
}

// The memory of rank 1 does not suffice. So rank 0 casts in each micro-batch too.
TEST(CastOnce, IsTheSameOnAllRanksOfAStage) {
  const auto casts_again = [](const std::string& flags) {
    const Options o = options_for(2, kCodes + flags);
    std::vector<int> again(2);
    harness::run_ranks(2, [&](Ranks& ranks) {
      Memory machine;
      machine.memory = ranks.rank() == 0 ? i64{1} << 40 : 1;
      const Mesh mesh = step_spec(o).mesh;
      const int stage = mesh.place(mesh.coord(ranks.rank()), groups::pipeline);
      const PlannedStep step = plan_alike([&] { return step_spec(o, stage); }, machine, ranks);
      again[size_t(ranks.rank())] = step.plan.bytes(Role::once) == 0;
    });
    return again;
  };
  EXPECT_EQ(casts_again("--tensor-model-parallel-size 2"), (std::vector{1, 1}));
  EXPECT_EQ(casts_again("--pipeline-model-parallel-size 2"), (std::vector{0, 1}));  // stages share no scale
}

}  // namespace megalith
