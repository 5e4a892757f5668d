#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/dtype.h"
#include "base/mismatch.h"
#include "base/rng.h"
#include "base/shape.h"
#include "base/threads.h"

namespace megalith {

TEST(DType, bf16_rounds_to_nearest_even) {
  EXPECT_EQ(float(bf16(1.0f)), 1.0f);
  EXPECT_EQ(bf16(1.00390625f).bits, 0x3f80);  // half way, even below
  EXPECT_EQ(bf16(1.01171875f).bits, 0x3f82);  // half way, even above
  EXPECT_TRUE(std::isnan(float(bf16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_EQ(float(bf16(std::numeric_limits<float>::infinity())), std::numeric_limits<float>::infinity());
}

TEST(Check, says_the_value) {
  try {
    check(false, "[thing] width is {}: want 3", 4);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "[thing] width is 4: want 3");
  }
}

TEST(Mismatch, names_the_first_few_in_one_line) {
  EXPECT_EQ(list_mismatches(std::vector<Mismatch>{{"a", "4", "3"}, {"b", "1", ""}}),
            "a: 3 there, 4 here; b: nothing there, 1 here");
  const std::vector<Mismatch> many(9, {"a", "", "3"});
  EXPECT_TRUE(list_mismatches(many).ends_with("; a: 3 there, nothing here; and 5 more"));
}

TEST(Shape, prints) { EXPECT_EQ(to_string({2, 3}), "[2, 3]"); }

TEST(Threads, every_index_once) {
  for (i64 n : {0, 1, 7, 1000}) {
    std::vector<int> seen(n);
    parallel_for(n, 3, [&](i64 i) { ++seen[i]; });
    for (int s : seen) EXPECT_EQ(s, 1);
  }
}

TEST(Rng, normal_has_mean_zero_and_variance_one) {
  double sum = 0, squares = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double x = normal(mix_all(7, i, 3));
    sum += x, squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0, 0.02);
  EXPECT_NEAR(squares / n, 1, 0.02);
}

}  // namespace megalith
