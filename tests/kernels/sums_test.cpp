// Statistics of a step's end: squares of weights in two parts, and the count of nonzeros.
#include <algorithm>
#include <limits>

#include "base/split_float.h"
#include "kernel_run.h"

namespace megalith::kernel_tests {

// Two parts of 16 bits count as the number that they form.
TEST(SumSquares, of_joined_parts) {
  for (i64 n : {0, 1, 7, 33, 129, 100000}) {
    const Tensor x = random_tensor(DType::f32, {n}, 5);
    std::vector<double> near, rest;
    double want = 0;
    for (double v : x.x) {
      near.push_back(float(bf16_half_of(float(v)))), rest.push_back(low_half_of(float(v)));
      want += v * v;
    }
    const Tensor a = tensor(DType::bf16, {n}, near), b = tensor(DType::u16, {n}, rest);
    EXPECT_NEAR(run_kernel(SumSquares{.ndim = 1, .rest = true}, {a, b})[0].x[0], want, 1e-12 * want) << n;
  }
}

TEST(CountNonzeros, counts_what_is_not_0) {
  for (DType t : tested_dtypes())
    for (i64 n : {0, 1, 7, 33, 129, 100000}) {
      Tensor x = random_tensor(t, {n}, 3);
      for (size_t i = 0; i < x.x.size(); ++i)
        if (i % 5 == 2) x.x[i] = i % 2 ? 0.0 : -0.0;
      if (n > 30) x.x[30] = std::numeric_limits<double>::quiet_NaN(), x.x[31] = 1e-30;
      x = tensor(t, {n}, x.x);  // rounded to t
      const double zeros = double(std::ranges::count(x.x, 0.0));
      EXPECT_EQ(run_kernel(CountNonzeros{1}, {x})[0].x[0], double(n) - zeros) << n;
    }
}

}  // namespace megalith::kernel_tests
