#include "exec/cuda_needs/parts_product.h"

namespace megalith::cuda {

std::optional<PartsProduct> parts_product(const GemmProblem& problem) {
  const auto& [m, n, k, a, b, c] = problem.spec;
  const bool types = a.dtype == DType::f32 && b.dtype == DType::bf16 && (c.dtype == a.dtype || c.dtype == b.dtype);
  const bool along_columns = a.col == 1 && a.row == k, along_rows = a.row == 1 && a.col == m;
  const bool dense = b.col == 1 && b.row == n && c.col == 1 && c.row == n;
  if (!types || !dense || problem.batch > 1 || problem.bias || !(along_columns || along_rows)) return {};
  PartsProduct p;
  p.adds_parts = !along_columns, p.rows = along_columns ? m : k, p.columns = along_columns ? k : m;
  const DType part = DType::bf16;
  if (p.adds_parts) {
    p.product = {{3 * m, n, k, {part, 1, 3 * m}, b, {DType::f32, n, 1}}};
    p.sums = 3 * m * n;
  } else {
    p.product = {{m, n, 3 * k, {part, 3 * k, 1}, b, c}, 1, {}, problem.adds};
    p.copies = 3 * k * n;
  }
  return p;
}

}  // namespace megalith::cuda
