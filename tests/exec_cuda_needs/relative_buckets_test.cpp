// Buckets as kernels take them, against the function that the CPU and other programs go by.
#include "exec/cuda_needs/relative_buckets.h"

#include <gtest/gtest.h>

#include "ops/attention.h"
#include "ops/relative_positions.h"

namespace megalith::cuda {

TEST(RelativeBuckets, are_those_of_the_function) {
  for (bool causal : {false, true})
    for (const auto& [buckets, most] :
         {std::pair<i64, i64>{32, 128}, {4, 4}, {8, 11}, {12, 24}, {64, 1000}, {400, 9000}})
      for (i64 longest : {i64{0}, i64{1}, i64{40}, i64{3000}}) {
        const RelativeBuckets b =
            relative_buckets({.causal = causal, .buckets = buckets, .max_distance = most}, longest);
        EXPECT_LE(b.reach, std::max<i64>(1, longest));
        for (i64 delta = -longest; delta <= longest; ++delta) {
          const int want = relative_bucket(delta, !causal, buckets, most);
          ASSERT_EQ(b.of(int(delta)), want) << delta << " of " << buckets << " up to " << most;
          if (std::abs(delta) >= b.reach) ASSERT_EQ(b.of(delta < 0 ? -b.reach : b.reach), want) << delta;
        }
      }
}

TEST(RelativeBuckets, are_none_without_a_table) { EXPECT_EQ(relative_buckets({}, 100).distances(), 0); }

TEST(RelativeBuckets, more_than_kernels_take_are_refused) {
  EXPECT_THROW(relative_buckets({.buckets = 2000, .max_distance = 4000}, 5000), Error);
}

}  // namespace megalith::cuda
