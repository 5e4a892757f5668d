// Finds the first instruction of a step that changes the state. The step must wait there for copies in progress.
#include "plan/first_update.h"

#include <gtest/gtest.h>

#include <set>

#include "exec/cpu/backend.h"
#include "graph/relayout_op.h"
#include "options_helpers.h"
#include "settings/schedules.h"
#include "step/step.h"

namespace megalith {
namespace {

PlannedStep first_update_step(const std::string& flags) {
  const Options o = options_of(std::string(kSmallRun) +
                               "--dry-run --num-layers 4 --micro-batch-size 1 --global-batch-size 8 " + flags);
  return plan_step(step_spec(o), *make_cpu_backend());
}

// The roles of the leaves that an instruction itself writes. A transfer and its wait only forward another rank's data.
std::set<Role> written(const Plan& plan, const Program& p, const Instruction& in) {
  std::set<Role> roles;
  for (const int b : in.outs)
    if (p.buffers[size_t(b)].leaf >= 0 && !in.op.get_if<Relayout>() && !in.op.get_if<Wait>())
      roles.insert(plan.leaves[size_t(p.buffers[size_t(b)].leaf)].role);
  return roles;
}

void expect_found(const Plan& plan, const std::string& program, const std::string& flags) {
  const Program& p = plan.program(program);
  const size_t update = first_update(plan, p);
  ASSERT_LT(update, p.instructions.size()) << flags;
  size_t last_backward = 0;
  for (size_t i = 0; i < p.instructions.size(); ++i) {
    const Instruction& in = p.instructions[i];
    if (in.phase == Phase::backward) last_backward = i;
    if (i >= update) continue;
    for (const Role role : written(plan, p, in))
      EXPECT_TRUE(role != Role::parameter && role != Role::main_parameter && role != Role::optimizer)
          << flags << ": " << in.op.name() << " writes " << name_of(role);
  }
  EXPECT_LT(last_backward, update) << flags;  // copies can overlap forward and backward
}

}  // namespace

TEST(FirstUpdate, IsBehindTheBackward) {
  for (const std::string flags :
       {"", "--bf16", "--optimizer sgd", "--bf16 --world-size 4 --use-distributed-optimizer",
        "--bf16 --world-size 4 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
        "--world-size 2 --use-distributed-optimizer --optimizer sgd"}) {
    const PlannedStep step = first_update_step(flags);
    expect_found(step.plan, "last-micro-batch", flags);
    for (const char* program : {"micro-batch", "evaluate"}) {
      const Program& p = step.plan.program(program);
      EXPECT_EQ(first_update(step.plan, p), p.instructions.size()) << flags << " " << program;
    }
  }
  for (const std::string flags : {"", "--bf16 --use-distributed-optimizer --overlap-grad-reduce"})
    expect_found(first_update_step("--pipeline-model-parallel-size 2 --world-size 4 " + flags).plan, "update", flags);
}

}  // namespace megalith
