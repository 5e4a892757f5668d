// Fused casts take more memory than separate ones. A step does not fuse them if only then it fits.
#include <gtest/gtest.h>

#include "memory_machine.h"
#include "ops/all.h"
#include "small_run.h"

namespace megalith {
namespace {

// Has a kernel for each op that a GPU's kernels know.
struct Fusing : Memory {
  bool has_coded_kernel(const Graph&, const Node& n) const override {
    const auto& op = n.op.get_if<CodedResult>()->op;
    return !op || op->get_if<RmsNorm>() || op->get_if<Swiglu>() || op->get_if<SwigluGrad>();
  }
};

i64 fused(const PlannedStep& step) {
  i64 n = 0;
  for (const Program& p : step.plan.programs)
    for (const Instruction& in : p.instructions) n += in.op.get_if<CodedResult>() != nullptr;
  return n;
}

PlannedStep planned(const Options& o, Memory& machine, i64 memory) {
  machine.memory = memory;
  return plan_step(step_spec(o), machine);
}

}  // namespace

TEST(FusedCasts, AreLeftOutWhereMemoryDoesNotSuffice) {
  constexpr i64 kAmple = i64{1} << 40, kSpare = i64{512} << 20;
  const Options o = options_for(1,
                                "--bf16 --swiglu --normalization RMSNorm --disable-bias-linear --ffn-hidden-size 4096 "
                                "--recompute-granularity full --fp8-format hybrid --fp8-recipe delayed");
  Memory plain;
  Fusing fusing;
  const i64 least = planned(o, plain, 0).plan.arena_bytes;  // of separate casts
  EXPECT_GT(fused(planned(o, fusing, kAmple)), 0);
  const PlannedStep scarce = planned(o, fusing, least + fusing.fixed_bytes() + kSpare);
  EXPECT_EQ(fused(scarce), 0);
  EXPECT_EQ(scarce.plan.arena_bytes, least);
}

}  // namespace megalith
