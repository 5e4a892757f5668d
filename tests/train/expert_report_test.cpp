// Tests of the dry run's report on a mixture of experts, for every layout of its ranks.
#include "planner/expert_report.h"

#include <gtest/gtest.h>

#include "memory_machine.h"
#include "options_helpers.h"
#include "planner/plan_report.h"

namespace megalith {
namespace {

const std::string kMixture =
    std::string(kSmallRun) +
    "--dry-run --disable-bias-linear --swiglu --num-experts 8 --moe-router-topk 4 --moe-ffn-hidden-size 48 "
    "--moe-shared-expert-intermediate-size 32 --sequence-parallel ";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

// 2 x 32 tokens with 4 of 8 experts; f32; 2 x 64 + 3 x 48 numbers per row.
TEST(ExpertReport, TellsRowsAndTheirBuffers) {
  EXPECT_EQ(expert_lines(options_of(kSmallRun)), "");
  EXPECT_EQ(expert_lines(options_of(kMixture)),
            "  experts' rows, a layer                    256 of a rank; 256 if balanced, 256 at worst\n"
            "  their buffers, forward                    0.3 MiB; 0.3 if balanced, 0.3 at worst\n");
  const std::string shared = kMixture + "--world-size 4 --expert-model-parallel-size 4 ";
  EXPECT_EQ(expert_lines(options_of(shared)),
            "  experts' rows, a layer                    512 of a rank; 256 if balanced, 512 at worst\n"
            "  their buffers, forward                    0.5 MiB; 0.3 if balanced, 0.5 at worst\n");
  EXPECT_EQ(
      expert_lines(options_of(shared + "--moe-expert-rank-capacity-factor 1.25 --micro-batch-size 8")),
      "  experts' rows, a layer                   1280 of a rank; 1024 if balanced, 2048 at worst, in up to 2 parts\n"
      "  their buffers, forward                    1.3 MiB; 1.1 if balanced, 2.1 at worst\n");
  // A rank has half of each expert's matrices, and the tokens of both tensor-parallel ranks.
  EXPECT_EQ(expert_lines(options_of(kMixture + "--world-size 4 --tensor-model-parallel-size 2 "
                                               "--expert-model-parallel-size 2 --bf16")),
            "  experts' rows, a layer                    512 of a rank; 256 if balanced, 512 at worst\n"
            "  their buffers, forward                    0.2 MiB; 0.1 if balanced, 0.2 at worst\n");
}

// Parts of the backward recompute some values. Such values would not be kept, so they do not count as saved. The norm's
// result is kept, because parts read it before its gradient.
TEST(ExpertReport, PartsSaveNothingByMakingAgain) {
  const auto saved = [](const std::string& more) {
    const Options o = options_of(kMixture + more);
    const std::string text = plan_report(o, plan_step(step_spec(o), Memory{}), MemoryNeed{});
    const std::string mark = "rematerialized in gradients: ";
    return std::stod(text.substr(text.find(mark) + mark.size()));
  };
  const std::string large = "--micro-batch-size 32 ";  // 2 layers, 32 x 32 tokens with 4 experts each
  const double whole = saved(large), parts = saved(large + "--moe-expert-rank-capacity-factor 0.5");
  EXPECT_NEAR(whole - parts, 2.0 * 32 * 32 * (4 * 48 + 64) * 4 / (1 << 20), 0.11);
}

// No other rank has a copy of these experts. So the update copies their new weights, not each micro-batch.
TEST(ExpertReport, WeightsOfOneRankAreCopiedOnceAStep) {
  const Options o = options_of(kMixture +
                               "--world-size 4 --expert-model-parallel-size 4 --bf16 --use-distributed-optimizer "
                               "--overlap-param-gather --ddp-bucket-size 1000 ");
  const PlannedStep step = plan_step(step_spec(o), Memory{});
  const auto count = [&](const std::string& program, Phase phase, std::string_view op) {
    return std::ranges::count_if(step.plan.find_program(program)->instructions,
                                 [&](const Instruction& in) { return in.phase == phase && in.op.name() == op; });
  };
  EXPECT_EQ(count("micro-batch", Phase::forward, "put_back"), 0);
  EXPECT_GT(count("micro-batch", Phase::forward, "wait"), 0);
  EXPECT_GT(count("last-micro-batch", Phase::update, "put_back"), 0);
}

// Every expert layout is planned, with and without memory for all rows. The report must describe it.
TEST(ExpertReport, DryRunsOfAllLayouts) {
  int planned = 0;
  for (const i64 tp : {1, 2})
    for (const i64 cp : {1, 2})
      for (const i64 pp : {1, 2})
        for (const i64 ep : {1, 2, 4, 8})
          for (const i64 etp : {1, 2}) {
            const std::string flags = fmt::format(
                "--world-size 8 --tensor-model-parallel-size {} --context-parallel-size {} "
                "--pipeline-model-parallel-size {} --expert-model-parallel-size {} --expert-tensor-parallel-size {} "
                "--micro-batch-size 16 --global-batch-size 256 --use-distributed-optimizer ",
                tp, cp, pp, ep, etp);
            const std::string refused = refusal_of(kMixture + flags);
            if (!refused.empty()) {  // the error names what does not fit
              EXPECT_TRUE(has(refused, "expert")) << refused;
              continue;
            }
            i64 bytes = 0;
            for (const char* room : {"--moe-expert-rank-capacity-factor 0.5 --moe-shared-expert-overlap", ""}) {
              const Options o = options_of(kMixture + flags + room);
              const PlannedStep step = plan_step(step_spec(o), Memory{});
              EXPECT_EQ(step.plan.mesh.n(groups::expert), ep);
              const std::string report = plan_report(o, step, MemoryNeed{});
              EXPECT_TRUE(has(report, "experts' rows, a layer")) << report;
              EXPECT_EQ(has(report, " parts\n"), *room != 0) << report;
              if (ep > 1) EXPECT_LT(bytes, step.plan.arena_bytes) << flags;  // at ep 1 there is no worst case
              bytes = step.plan.arena_bytes;
              ++planned;
            }
          }
  EXPECT_GE(planned, 40);
}

}  // namespace megalith
