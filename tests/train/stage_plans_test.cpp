// Tests of plans for all stages of a pipeline that are made without its ranks. The report shows the stage with the most
// memory.
#include "planner/stage_plans.h"

#include <gtest/gtest.h>

#include "memory_machine.h"
#include "options_helpers.h"
#include "planner/plan_report.h"
#include "planner/step_time.h"

namespace megalith {
namespace {

const std::string kPipeline = std::string(kSmallRun) +
                              "--vocab-size 100 --untie-embeddings-and-output-weights --dry-run --world-size 4 "
                              "--pipeline-model-parallel-size 4 --global-batch-size 32 --eval-iters 0 ";

// A clock on which each einsum takes a second and other nodes take no time.
struct EinsumClock : sim::Clock {
  sim::Took seconds(const Plan&, const Program&, const Instruction& in) const override {
    return {.work = in.op.name() == "einsum" ? 1.0 : 0.0};
  }
  double send(double, int, int) const override { return 0; }
};

i64 need_of_stage(const Options& o, int stage, const Memory& machine) {
  return memory_need(o, plan_step(step_spec(o, stage), machine), machine, false).total();
}

i64 einsums_of(const Plan& plan) {
  i64 n = 0;
  for (const Program& p : plan.programs)
    for (const Instruction& in : p.instructions) n += in.op.name() == "einsum";
  return n;
}

}  // namespace

TEST(StagePlans, FindsTheFullestStage) {
  Memory machine;
  for (const char* flags :
       {"--num-layers 8", "--num-layers 9 --pipeline-model-parallel-layout Ettt|ttt|tt|tL",
        "--num-layers 10 --pipeline-model-parallel-layout Et|tttt|ttt|ttL",
        "--num-layers 8 --num-layers-per-virtual-pipeline-stage 1", "--num-layers 4 --vocab-size 60000",
        "--num-layers 8 --pipeline-schedule zero-bubble", "--num-layers 8 --global-batch-size 4"}) {
    const Options o = options_of(kPipeline + flags);
    StagePlans plans(o, machine);
    const FullestStage full = fullest_stage(plans, false);
    i64 most = 0;
    for (int stage = 0; stage < 4; ++stage) {
      most = std::max(most, need_of_stage(o, stage, machine));
      EXPECT_EQ(plans.at(stage).plan.arena_bytes, plan_step(step_spec(o, stage), machine).plan.arena_bytes)
          << flags << ", stage " << stage;
    }
    EXPECT_EQ(full.need.total(), most) << flags;
    EXPECT_EQ(need_of_stage(o, full.stage, machine), most) << flags;
  }
}

// Stages 1 and 2 differ only in the number of micro-batches whose activations they keep.
TEST(StagePlans, AsksOnlyForStagesThatMayBeTheFullest) {
  Memory machine;
  const Options o = options_of(kPipeline + "--num-layers 8");
  EXPECT_EQ(StagePlans(o, machine).fullest_candidates(), (std::vector<int>{0, 1, 3}));
}

TEST(StagePlans, ReportTellsTheStageAndTheWholeModel) {
  Memory machine;
  const Options o = options_of(kPipeline + "--num-layers 10 --pipeline-model-parallel-layout Et|tttt|ttt|ttL");
  StagePlans plans(o, machine);
  const FullestStage full = fullest_stage(plans, false);
  EXPECT_EQ(full.stage, 1);
  const std::string text = plan_report(o, plans.at(full.stage), full.need);
  // A GPT has tables of 128 rows (28 of padding), positions, layers and the last norm.
  const i64 h = 64, layer = 12 * h * h + 13 * h, all = 2 * 100 * h + 32 * h + 10 * layer + 2 * h;
  for (const std::string& line :
       {std::string("  pipeline stage 1 (of 0 to 3), which needs the most memory\n"),
        fmt::format("  parameters                   {:>16}   (+ {} of vocabulary padding)\n", all, 2 * 28 * h),
        fmt::format("  parameters of the stage      {:>16}\n", 4 * layer),
        fmt::format("  total                        {:>16} bytes", full.need.total()),
        std::string("  this plan is for the CPU: ")})
    EXPECT_NE(text.find(line), text.npos) << line << text;
  machine.host = 5 << 20;  // a device with its own memory
  EXPECT_EQ(plan_report(o, plans.at(1), fullest_stage(plans, false).need).find("CPU"), std::string::npos);
  EXPECT_NE(stages_report(plans).find("stage 1: layers 1 to 4; 3 micro-batches in flight"), std::string::npos);
}

// The suggestion must fit on every stage.
TEST(StagePlans, AdviceHoldsForTheFullestStage) {
  const Options o = options_of(kPipeline +
                               "--num-layers 11 --seq-length 256 --micro-batch-size 8 --global-batch-size 64 "
                               "--pipeline-model-parallel-layout Ett|ttttt|tt|ttL");
  Options smaller = o;
  smaller.train.micro_batch_size = 4;
  Memory machine;
  machine.memory = need_of_stage(smaller, 0, machine);
  ASSERT_GT(need_of_stage(smaller, 1, machine), machine.memory);
  const std::string text = refusal(o, machine), mark = "--micro-batch-size ";
  ASSERT_NE(text.find(mark), text.npos) << text;
  smaller.train.micro_batch_size = std::stoll(text.substr(text.find(mark) + mark.size()));
  for (int stage = 0; stage < 4; ++stage) EXPECT_LE(need_of_stage(smaller, stage, machine), machine.memory) << text;
}

// Computed by hand. Each stage waits for the slowest one, except at the start and the end of the step. The first
// micro-batch reaches the slowest stage. After that, no micro-batch waits there. Then the last one returns from it to
// stage 0.
TEST(StagePlans, AStepTakesTheSlowestStageAndTheBubble) {
  Memory machine;
  const Options o = options_of(kPipeline + "--num-layers 10 --pipeline-model-parallel-layout Et|tttt|ttt|ttL");
  StagePlans plans(o, machine);
  const double slowest = double(einsums_of(plans.at(1).plan)), first = double(einsums_of(plans.at(0).plan));
  const StepTime t = step_time(plans, EinsumClock());
  EXPECT_EQ(plans.at(0).pipeline->spec.schedule.micro_batches, 16);
  ASSERT_GT(slowest, first);
  EXPECT_DOUBLE_EQ(t.by_op.at("einsum"), 16 * slowest) << "of the slowest stage, over the step";
  const double ramp = first + double(einsums_of(plans.at(2).plan)) + double(einsums_of(plans.at(3).plan));
  EXPECT_GE(t.seconds, 16 * slowest + first);
  EXPECT_LE(t.seconds, 16 * slowest + ramp);
  double work = 0;
  for (int stage = 0; stage < 4; ++stage) work += 16 * double(einsums_of(plans.at(stage).plan));
  EXPECT_NEAR(t.bubble, (4 * t.seconds - work) / work, 1e-9);
}

}  // namespace megalith
