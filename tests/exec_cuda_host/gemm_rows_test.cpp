#include "exec/cuda/products/gemm_rows.h"

#include <gtest/gtest.h>

#include <cmath>

namespace megalith::cuda {

TEST(GemmRows, alike_but_for_rounding) {
  const std::vector<float> a = {100, -3, 0.5f, 0};
  EXPECT_TRUE(alike(a, a, DType::f32));
  EXPECT_TRUE(alike(a, {100.4f, -3, 0.5f, 0}, DType::bf16)) << "the next bf16 number";
  EXPECT_FALSE(alike(a, {100.4f, -3, 0.5f, 0}, DType::f32));
  EXPECT_TRUE(alike(a, {100.0001f, -3, 0.5f, 0}, DType::f32));
  EXPECT_TRUE(alike({0, 0}, {0, 0}, DType::f32));
}

TEST(GemmRows, what_is_wrong_is_not_alike) {
  const std::vector<float> a = {100, -3, 50, 0};
  EXPECT_FALSE(alike(a, {100, -3, 0, 0}, DType::bf16)) << "missing";
  EXPECT_FALSE(alike(a, {-3, 100, 50, 0}, DType::bf16)) << "misplaced";
  EXPECT_FALSE(alike(a, {100, -3, NAN, 0}, DType::bf16)) << "not written";
  EXPECT_FALSE(alike({NAN, 1, 2, 3}, {NAN, 1, 2, 3}, DType::bf16)) << "nothing to compare with";
  EXPECT_FALSE(alike({1, 2, 3, INFINITY}, {1, 2, 3, INFINITY}, DType::bf16));
  EXPECT_FALSE(alike(a, {100, -3, 50}, DType::bf16)) << "fewer";
}

}  // namespace megalith::cuda
