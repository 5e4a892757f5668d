#include "exec/cpu/kernels/matmul.h"

#include "tests/kernels/einsum_definition.h"

namespace megalith::kernel_tests {

using cpu::MatMul, cpu::onednn_matmul, cpu::own_matmul;

// What make_matmul chooses depends on the CPU. All means are right on every CPU. Where a CPU has no instruction for
// pairs of bf16, own_matmul multiplies in f32.
TEST(MatMul, library_and_own_agree) {
  for (DType in : {DType::f32, DType::bf16})
    for (DType out : {DType::f32, DType::bf16}) {
      if (in == DType::f32 && out == DType::bf16) continue;
      const GemmSpec s{33, 65, 129, {in, 129, 1}, {in, 1, 129}, {out, 65, 1}};
      const Tensor a = random_tensor(in, {33, 129}, 1), b = random_tensor(in, {65, 129}, 2),
                   c0 = random_tensor(out, {33, 65}, 3);
      const Want want = naive("mk,nk->mn", a, b);
      std::vector<MatMul> all = {own_matmul(s), own_matmul(s, true)};
      if (const auto library = onednn_matmul(s))
        all.push_back(*library);
      else
        EXPECT_EQ(in, DType::bf16) << "only CPUs without AVX-512 lack it";
      for (const MatMul& mm : all)
        for (bool add : {false, true}) {
          Watched wa(a), wb(b), wc(c0), workspace(mm.workspace, 0xFF);
          mm.run(wa.data(), wb.data(), wc.data(), add, workspace.data());
          EXPECT_TRUE(wc.intact() && workspace.intact());
          expect_einsum(wc.tensor(c0.type), want, add ? c0.x : std::vector<double>{},
                        fmt::format("{}->{}", name_of(in), name_of(out)));
        }
    }
}

// Parts of experts' rows have the bits of the whole. Without the build's avoid-fma-max-bits a single row of f64 differs
// on AMD CPUs without AVX-512. oneDNN's rows of bf16 differ on those with avx512_bf16 (32 of 301 rows, k 800).
TEST(MatMul, rows_do_not_depend_on_each_other) {
  for (const DType type : {DType::f32, DType::f64, DType::bf16})
    for (const auto& [n, k] : {std::pair<i64, i64>{40, 24}, {24, 20}, {65, 129}, {96, 800}})
      for (const bool turned : {false, true}) {
        const i64 rows = 301;
        const Tensor a = random_tensor(type, {rows, k}, 1), b = random_tensor(type, {k, n}, 2);
        Watched wa(a), wb(b);
        const Matrix second = turned ? Matrix{type, 1, k} : Matrix{type, n, 1};
        const auto product = [&](i64 first, i64 m) {
          const MatMul mm = cpu::make_row_matmul({m, n, k, {type, k, 1}, second, {type, n, 1}});
          Watched c(Tensor{{type, {m, n}, whole(2)}, std::vector<double>(size_t(m * n))}),
              workspace(mm.workspace, 0xFF);
          mm.run(wa.data() + first * k * size_of(type), wb.data(), c.data(), false, workspace.data());
          return c.tensor({type, {m, n}, whole(2)}).x;
        };
        const std::vector<double> all = product(0, rows);
        for (const auto& [first, m] :
             {std::pair<i64, i64>{0, 32}, {32, 4}, {36, 1}, {5, 2}, {3, 16}, {1, 8}, {40, 256}}) {
          const std::vector<double> part = product(first, m);
          EXPECT_EQ(part, std::vector<double>(all.begin() + first * n, all.begin() + (first + m) * n))
              << name_of(type) << " " << n << " x " << k << (turned ? " turned" : "") << ", " << m << " rows";
        }
      }
}

// Sizes at which either operand stays packed in several blocks of rows and of k: too large for the plain definition, so
// the means are compared. k is odd, so pairs have half a step at the end. Sums of 1,799 products of numbers below 4:
// what rounding can do is far below one wrong term.
TEST(MatMul, several_blocks) {
  constexpr i64 k = 1799;
  for (const DType type : {DType::f32, DType::bf16})
    for (const auto& [m, n] : {std::pair<i64, i64>{1050, 500}, {600, 700}})
      for (const bool turned : {false, true}) {  // a and b dense along k
        const Matrix of_a = turned ? Matrix{type, k, 1} : Matrix{type, 1, m};
        const Matrix of_b = turned ? Matrix{type, 1, k} : Matrix{type, n, 1};
        const GemmSpec s{m, n, k, of_a, of_b, {DType::f32, n, 1}};
        const Tensor a = random_tensor(type, {k, m}, 1), b = random_tensor(type, {k, n}, 2),
                     c = random_tensor(DType::f32, {m, n}, 3);
        std::vector<MatMul> means = {own_matmul(s), own_matmul(s, true)};
        if (const auto library = onednn_matmul(s)) means.push_back(*library);
        std::vector<std::vector<double>> got;
        for (const MatMul& mm : means) {
          Watched wa(a), wb(b), wc(c), workspace(mm.workspace, 0xFF);
          mm.run(wa.data(), wb.data(), wc.data(), true, workspace.data());
          EXPECT_TRUE(wc.intact() && workspace.intact());
          got.push_back(wc.tensor(c.type).x);
        }
        for (size_t other = 1; other < got.size(); ++other) {
          double worst = 0;
          for (size_t i = 0; i < got[0].size(); ++i) worst = std::max(worst, std::abs(got[0][i] - got[other][i]));
          EXPECT_LT(worst, 2e-3) << name_of(type) << ", " << m << " x " << n << ", means " << other;
        }
      }
}

}  // namespace megalith::kernel_tests
