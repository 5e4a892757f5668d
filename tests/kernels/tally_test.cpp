// AddInto and ReadFrom.
#include "kernel_run.h"

namespace megalith::kernel_tests {

TEST(Tally, adds_or_starts_and_reads) {
  for (const DType t : {DType::f32, DType::f64})
    for (const auto& [n, at, size] : {std::array<i64, 3>{1, 0, 1}, {3, 2, 7}, {300, 61, 1000}}) {
      const Tensor sums = random_tensor(DType::f64, {size}, 1), x = random_tensor(t, {n}, 2);
      for (const bool first : {false, true}) {
        std::vector<double> want = sums.x;
        for (i64 i = 0; i < n; ++i) want[size_t(at + i)] = (first ? 0 : want[size_t(at + i)]) + x.x[size_t(i)];
        EXPECT_EQ(run_kernel(AddInto{1, at}, {sums, x}, {first})[0].x, want) << n << " at " << at;
      }
      const auto read = run_kernel(ReadFrom{at, n}, {sums})[0];
      for (i64 i = 0; i < n; ++i) EXPECT_EQ(read.x[size_t(i)], double(float(sums.x[size_t(at + i)])));
    }
}

TEST(Tally, of_one_number) {
  const Tensor sums = tensor(DType::f64, {2}, {1, 2}), x = tensor(DType::f32, {}, {3});
  EXPECT_EQ(run_kernel(AddInto{0, 1}, {sums, x}, {false})[0].x, (std::vector<double>{1, 5}));
}

}  // namespace megalith::kernel_tests
