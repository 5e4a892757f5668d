// Memory that the CPU's executor can't have.
#include "exec/cpu/executor.h"

#include <gtest/gtest.h>

#include <fstream>

namespace megalith::cpu {
namespace {

constexpr i64 kTooMuch = i64{1} << 60;

std::string refusal(i64 arena_bytes, i64 host_bytes) {
  Plan plan;
  plan.arena_bytes = arena_bytes, plan.host_bytes = host_bytes;
  try {
    Executor executor(plan);
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

i64 address_space() {  // pages
  i64 pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

}  // namespace

TEST(CpuExecutor, SaysWhichMemoryIsMissing) {
  EXPECT_EQ(refusal(1, 1), "");
  EXPECT_EQ(
      refusal(kTooMuch, 1),
      "cannot allocate the plan's 1152921504606846976 bytes of memory: use a smaller --micro-batch-size or model");
  EXPECT_EQ(refusal(1, kTooMuch),
            "cannot allocate the plan's 1152921504606846976 bytes of host memory for offloaded values: give "
            "a lower --optimizer-offload-fraction or --activation-offload-fraction");
}

TEST(CpuExecutor, LeavesNoArenaBehind) {
  constexpr i64 kArena = i64{1} << 30;
  const i64 before = address_space();
  for (int i = 0; i < 4; ++i) EXPECT_NE(refusal(kArena, kTooMuch), "");
  EXPECT_LT(address_space() - before, kArena / 4096);
}

}  // namespace megalith::cpu
