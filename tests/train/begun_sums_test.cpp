// Tests of --overlap-grad-reduce. The programs of a pipeline's last micro-batch start the gradient reductions over
// ranks. Each starts when its terms are complete, and the update waits for them.
#include <gtest/gtest.h>

#include <map>

#include "exec/cpu/backend.h"
#include "graph/relayout_op.h"
#include "options_helpers.h"
#include "planner/communication.h"
#include "settings/schedules.h"

namespace megalith {
namespace {

PlannedStep planned(const std::string& flags, int ranks = 4) {
  const Options o = options_of(std::string(kSmallRun) +
                               "--dry-run --num-layers 8 --pipeline-model-parallel-size 2 "
                               "--micro-batch-size 1 --global-batch-size 8 " +
                               fmt::format("--world-size {} ", ranks) + flags);
  return plan_step(step_spec(o), *make_cpu_backend());
}

// The number of transfers on the gradient lane that a program starts.
int begins(const Plan& plan, const std::string& program) {
  int n = 0;
  for (const Instruction& in : plan.program(program).instructions)
    if (const auto* r = in.op.get_if<Relayout>()) n += r->lane == kGradientLane;
  return n;
}
int waits(const Plan& plan, const std::string& program) {
  int n = 0;
  for (const Instruction& in : plan.program(program).instructions) n += in.op.get_if<Wait>() != nullptr;
  return n;
}

}  // namespace

TEST(BegunSums, ArePartOfEachPiecesLastProgram) {
  for (const std::string optimizer : {"", "--use-distributed-optimizer --ddp-bucket-size 20000 "})
    for (const std::string schedule : {"backward", "weights"}) {
      const PlannedStep step = planned("--num-virtual-stages-per-pipeline-rank 2 --overlap-grad-reduce " + optimizer +
                                       (schedule == "weights" ? "--pipeline-schedule zero-bubble" : ""));
      const int first = begins(step.plan, "last-" + schedule);
      const int second = begins(step.plan, "last-" + schedule + "/1");
      EXPECT_GT(first, 1);
      EXPECT_GT(second, 1);
      EXPECT_EQ(begins(step.plan, "update"), 0);
      EXPECT_EQ(waits(step.plan, "update"), first + second);
      for (const std::string program : {"forward", "backward", "forward/1", "backward/1"})
        EXPECT_EQ(begins(step.plan, program), 0);
      // The backward of the model piece continues between the first transfer and the last one.
      int seen = 0, beside = 0;
      for (const Instruction& in : step.plan.program("last-" + schedule).instructions) {
        const auto* r = in.op.get_if<Relayout>();
        seen += r && r->lane == kGradientLane;
        beside += seen > 0 && seen < first && in.phase != Phase::update;
      }
      EXPECT_GT(beside, 5);
    }
}

TEST(BegunSums, AreNotMadeWithoutTheFlagOrWithoutOthers) {
  EXPECT_EQ(planned("").plan.find_program("last-backward"), nullptr);
  EXPECT_NE(planned("--overlap-grad-reduce").plan.find_program("last-backward"), nullptr);
  EXPECT_EQ(planned("--overlap-grad-reduce", 2).plan.find_program("last-backward"), nullptr);
}

// Ranks send the same bytes as without the flag. Memory grows by the bucket parts that outlive a program, and by
// workspaces.
TEST(BegunSums, SendTheSame) {
  const std::string flags = "--use-distributed-optimizer --num-virtual-stages-per-pipeline-rank 2 ";
  const PlannedStep apart = planned(flags), beside = planned(flags + "--overlap-grad-reduce");
  const auto sent = [](const PlannedStep& step) {
    std::map<std::string, double> out;
    for (const Sent& s : sent_a_step(step, 4)) out[s.axes] = s.bytes;
    return out;
  };
  EXPECT_EQ(sent(apart), sent(beside));
  i64 parts = 0;
  for (const Bucket& bucket : beside.buckets) parts += local_type(beside.plan.mesh, bucket.shard).bytes();
  EXPECT_GE(beside.plan.bytes(Role::gradient), apart.plan.bytes(Role::gradient) + parts);
  EXPECT_LE(beside.plan.bytes(Role::gradient),
            apart.plan.bytes(Role::gradient) + parts + kAlignment * i64(beside.buckets.size()));
}

}  // namespace megalith
