#include "tests/kernels/run_op.h"

namespace megalith::kernel_tests {

TEST(Cut, is_its_definition_and_join_puts_it_together) {
  for (DType t : tested_dtypes())
    for (auto [rows, first, second, inner] :
         {std::tuple<i64, i64, i64, i64>{1, 1, 1, 1}, {300, 20, 12, 1}, {5, 512, 64, 1}, {7, 3, 5, 11}}) {
      const Array x = normals(t, {rows, 2, first + second, inner}, 1);
      const i64 n = (first + second) * inner;
      const auto y = run_checked(Cut{"sbdh", 'd', first, second}, {x});
      for (i64 i = 0; i < 2 * rows * n; ++i) {
        const i64 row = i / n, at = i % n, a = first * inner, b = second * inner;
        ASSERT_EQ(at < a ? y[0][row * a + at] : y[1][row * b + at - a], x[i]) << i;
      }
      EXPECT_EQ(run_checked(Join{"sbdh", 'd', first, second}, {y[0], y[1]})[0].x, x.x);
    }
}

TEST(LatentKeys, are_their_definition) {
  for (DType t : tested_dtypes())
    for (auto [s, g, own, shared, value] :
         {std::tuple<i64, i64, i64, i64, i64>{1, 1, 1, 2, 1}, {9, 3, 12, 8, 10}, {40, 16, 128, 64, 128}}) {
      const i64 rows = s * 2, of_kv = own + value, of_k = own + shared;
      const LatentKeys op{own, shared, value};
      const Array kv = normals(t, {s, 2, g, of_kv}, 1), k_r = normals(t, {s, 2, shared}, 2);
      const auto y = run_checked(op, {kv, k_r});
      const Array dk = normals(t, {s, 2, g, of_k}, 3), dv = normals(t, {s, 2, g, value}, 4);
      const auto d = run_checked(LatentKeysGrad{own, shared, value}, {dk, dv});
      std::vector<double> sums(size_t(rows * shared), 0);
      for (i64 row = 0; row < rows * g; ++row) {
        for (i64 i = 0; i < of_k; ++i)
          ASSERT_EQ(y[0][row * of_k + i], i < own ? kv[row * of_kv + i] : k_r[row / g * shared + i - own]);
        for (i64 i = 0; i < value; ++i) ASSERT_EQ(y[1][row * value + i], kv[row * of_kv + own + i]);
        for (i64 i = 0; i < of_kv; ++i)
          ASSERT_EQ(d[0][row * of_kv + i], i < own ? dk[row * of_k + i] : dv[row * value + i - own]);
        for (i64 i = 0; i < shared; ++i) sums[size_t(row / g * shared + i)] += dk[row * of_k + own + i];
      }
      expect_near(d[1], sums, {t, double(g), 4 * std::sqrt(double(g))}, "dk_r");
    }
}

}  // namespace megalith::kernel_tests
