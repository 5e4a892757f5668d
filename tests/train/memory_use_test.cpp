#include "observe/memory_use.h"

#include <gtest/gtest.h>

#include "tests/harness/thread_ranks.h"

namespace megalith {
namespace {

constexpr i64 kMiB = 1 << 20;

TEST(MemoryUse, OneRankTellsItsOwn) {
  EXPECT_EQ(memory_line({{200 * kMiB, 198 * kMiB}}), "memory: planned 200.0 MiB, used 198.0 MiB (99.00 %)");
}

// The line names two ranks. Rank 0 is neither of them.
TEST(MemoryUse, FullestAndWorstOffOfSeveralAreNamed) {
  const std::vector<MemoryUse> all = {
      {100 * kMiB, 99 * kMiB}, {300 * kMiB, 240 * kMiB}, {100 * kMiB, 101 * kMiB}, {80 * kMiB, 8 * kMiB}};
  harness::run_ranks(4, [&](Ranks& ranks) {
    EXPECT_EQ(memory_line(all_memory_use(ranks, all[size_t(ranks.rank())])),
              "memory of 4 ranks: the fullest is rank 1, planned 300.0 MiB, used 240.0 MiB (80.00 %); the largest "
              "share of its plan has rank 2, planned 100.0 MiB, used 101.0 MiB (101.00 %)");
  });
}

}  // namespace
}  // namespace megalith
