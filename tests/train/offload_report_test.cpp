// Tests of the plan's report on the host memory of a step.
#include "planner/offload_report.h"

#include <gtest/gtest.h>

#include "memory_machine.h"
#include "options_helpers.h"
#include "planner/plan_report.h"

namespace megalith {

// Optimizer state on the host has separate rows. The report counts it for the host, not for the device, to the byte.
TEST(ReportOfOffload, TellsWhereTheOptimizersStateLies) {
  Memory device, one_memory;
  device.host = 5 << 20;
  const std::string run = std::string(kSmallRun) + "--vocab-size 1000 --bf16 --micro-batch-size 8 ";
  const std::string offload = run + "--optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d";
  const Options options = options_of(offload);
  const PlannedStep step = plan_step(step_spec(options), device);
  const MemoryNeed need = memory_need(options, step, device, false), before = need_of(options_of(run), device);
  const i64 there = step.plan.host_bytes;
  i64 matrices = 0;
  for (const Parameter& p : step.parameters) matrices += p.decays() ? p.type.elements() : 0;
  EXPECT_EQ(there, 12 * matrices);  // 10 on the device, where the low half of main weights is 2 bytes
  EXPECT_EQ(before.total() - need.total(), 10 * matrices);
  EXPECT_EQ(need.host_total() - before.host_total(), there);
  EXPECT_EQ(need_of(options, one_memory).total(), need_of(options_of(run), one_memory).total() + 2 * matrices);
  const std::string report = plan_report(options, step, need);
  for (const std::string& line :
       {fmt::format("  main parameter, on the host  {:>16} bytes", 4 * matrices),
        fmt::format("  optimizer, on the host       {:>16} bytes", 8 * matrices),
        fmt::format("  offload: a step moves {:.1f} MiB of optimizer state", double(there) / (1 << 20))})
    EXPECT_NE(report.find(line), std::string::npos) << report;
  // If memory is short, the report says so.
  device.memory = need.total();
  const std::string advice = "--optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d fits";
  EXPECT_NE(refusal(options_of(run), device).find(advice), std::string::npos) << refusal(options_of(run), device);
  device.memory = need.total() - 1;
  EXPECT_EQ(refusal(options_of(run), device).find(advice), std::string::npos);
}

// Activations on the host have a separate row. The report counts them for the host, not for the device, to the byte.
TEST(ReportOfOffload, TellsWhereActivationsLie) {
  Memory device, one_memory;
  device.host = 5 << 20;
  const std::string run = std::string(kSmallRun) + "--vocab-size 1000 --bf16 --micro-batch-size 8 --num-layers 12 ";
  const Options options = options_of(run +
                                     "--fine-grained-activation-offloading --min-offloaded-tensor-size 0 "
                                     "--offload-modules attn_norm mlp_norm mlp_act");
  const PlannedStep step = plan_step(step_spec(options), device);
  const MemoryNeed need = memory_need(options, step, device, false), before = need_of(options_of(run), device);
  i64 gone = 0;
  for (const auto& [module, bytes] : step.offloaded.bytes) gone += bytes;
  EXPECT_EQ(step.offloaded.bytes.size(), 3u);
  EXPECT_GT(gone, 0);
  EXPECT_EQ(step.plan.host_bytes, gone);
  EXPECT_EQ(step.plan.bytes(Role::kept, true), gone);
  EXPECT_EQ(need.host_total() - before.host_total(), gone);
  const i64 saved = step.unoffloaded_bytes - step.plan.program("micro-batch").activation_bytes;
  EXPECT_GE(saved, gone * 9 / 11) << "two layers' values may be on their way";
  EXPECT_GE(before.total() - need.total(), saved);  // and the values that gradients recompute
  EXPECT_GT(need_of(options, one_memory).total(), need.total()) << "one memory has both";
  const std::string report = plan_report(options, step, need);
  for (const std::string& line :
       {fmt::format("  kept activations, on the host {:>16} bytes", gone),
        fmt::format("  activation offload: {:.1f} MiB of a micro-batch go to the host's memory and back: attn_norm ",
                    double(gone) / (1 << 20)),
        fmt::format("  activation offload: saves {:.1f} MiB of {:.1f} MiB of activations", double(saved) / (1 << 20),
                    double(step.unoffloaded_bytes) / (1 << 20))})
    EXPECT_NE(report.find(line), std::string::npos) << line << report;
}

TEST(ReportOfOffload, ActivationsOnTheHostAreAdvisedWhereThatFits) {
  Memory device;
  device.host = 5 << 20;
  const std::string run =
      std::string(kSmallRun) +
      "--vocab-size 1000 --bf16 --micro-batch-size 8 --num-layers 12 --min-offloaded-tensor-size 0 ";
  const std::string flag = "--fine-grained-activation-offloading";
  device.memory = need_of(options_of(run + flag), device).total();
  EXPECT_LT(device.memory, need_of(options_of(run), device).total());
  EXPECT_NE(refusal(options_of(run), device).find(flag), std::string::npos) << refusal(options_of(run), device);
  --device.memory;
  EXPECT_EQ(refusal(options_of(run), device).find(flag), std::string::npos);
}

// There are sixteen windows, or more if a window would exceed 96 MiB. The last one is smaller.
TEST(ReportOfOffload, TellsTheWindowsOfTheOptimizersState) {
  Memory device;
  device.host = 5 << 20;
  const std::string run = std::string(kSmallRun) + "--vocab-size 1000 --bf16 --hidden-size ";
  for (const char* width : {"1024", "4096"})
    for (const auto& [flags, at_once] : {std::pair("", 1), {" --overlap-cpu-optimizer-d2h-h2d", 3}}) {
      const Options options = options_of(run + width + " --optimizer-cpu-offload" + flags);
      const PlannedStep step = plan_step(step_spec(options), device);
      const double all = double(step.plan.host_bytes) / (1 << 20), window = std::min(all / 16, 96.0);
      const std::string report = plan_report(options, step, memory_need(options, step, device, false));
      const std::string line = fmt::format(
          "  offload: a step moves {:.1f} MiB of optimizer state from the host's memory and back, in windows of "
          "{:.1f} MiB, at most {:.1f} MiB at once\n",
          all, window, at_once * window);
      EXPECT_NE(report.find(line), std::string::npos) << line << report;
    }
  const Options options = options_of(run + "1024");
  const PlannedStep step = plan_step(step_spec(options), device);
  EXPECT_EQ(plan_report(options, step, memory_need(options, step, device, false)).find("offload"), std::string::npos);
}

}  // namespace megalith
