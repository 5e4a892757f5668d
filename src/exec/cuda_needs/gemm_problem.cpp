#include "exec/cuda_needs/gemm_problem.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace megalith::cuda {

namespace {

// A number of bytes that divides every address of a call, as buffers are aligned to 256.
i64 alignment(const std::vector<Loop>& batch, const std::array<i64, 3>& bytes) {
  i64 common = 256;
  for (const Loop& l : batch)
    for (int o = 0; o < kMaxOperands; ++o) common = std::gcd(common, l.stride[size_t(o)] * bytes[size_t(o)]);
  return common;
}

// Whether the library supports the strides: one is 1, the other is a whole row or column.
bool is_dense(const Matrix& m, i64 rows, i64 cols) {
  return (m.col == 1 && m.row >= cols) || (m.col != 1 && m.row == 1 && m.col >= rows);
}

}  // namespace

std::string to_string(const GemmProblem& p) {
  const GemmSpec& s = p.spec;
  const auto matrix = [](const Matrix& m) { return fmt::format("{} {}:{}", name_of(m.dtype), m.row, m.col); };
  std::string text = fmt::format("{}x{}x{} a {} b {} y {}", s.m, s.n, s.k, matrix(s.a), matrix(s.b), matrix(s.c));
  if (p.batch > 1) text += fmt::format(" batch {} by {}", p.batch, fmt::join(p.batch_stride, ":"));
  if (p.adds) text += " adds";
  if (p.bias) text += " bias";
  constexpr std::string_view scales[] = {"one", "rows", "squares"};
  if (p.a_scales != CodeScales::one)
    text += fmt::format(" scales {} {}", scales[int(p.a_scales)], scales[int(p.b_scales)]);
  if (p.fast) text += " fast";
  if (p.alignment != 256) text += fmt::format(" aligned to {}", p.alignment);
  return text;
}

ProductBatch split_batch(std::vector<Loop> loops) {
  ProductBatch b;
  if (loops.empty()) return b;
  const auto longest = std::max_element(loops.begin(), loops.end(), [](auto& p, auto& q) { return p.n < q.n; });
  b.inside = *longest;
  loops.erase(longest);
  b.calls = std::move(loops);
  return b;
}

// Products of codes on Hopper need the summed dim dense in both operands, in rows of whole 16 bytes.
static bool is_library_kind_of_codes(const GemmProblem& p) {
  constexpr i64 kBytes = 16;
  const GemmSpec& s = p.spec;
  const DType y = s.c.dtype;
  const bool types = is_coded(s.a.dtype) && is_coded(s.b.dtype) &&
                     (y == DType::bf16 || y == DType::f16 || y == DType::f32) &&
                     !(s.a.dtype == DType::f8_e5m2 && s.b.dtype == DType::f8_e5m2);
  const bool dense = s.a.col == 1 && s.b.row == 1 && s.c.col == 1 && s.a.row >= s.k && s.b.col >= s.k && s.c.row >= s.n;
  const bool aligned = s.k % kBytes == 0 && s.a.row % kBytes == 0 && s.b.col % kBytes == 0 &&
                       s.n * size_of(y) % kBytes == 0 && s.c.row * size_of(y) % kBytes == 0;
  const bool blocks = p.a_scales != CodeScales::one || p.b_scales != CodeScales::one;
  const bool pair = !blocks || (p.a_scales != CodeScales::one && p.b_scales != CodeScales::one && !p.fast &&
                                !(p.a_scales == CodeScales::squares && p.b_scales == CodeScales::squares));
  return types && dense && aligned && pair && p.batch == 1 && !p.bias;
}

bool is_library_kind(const GemmProblem& p) {
  const GemmSpec& s = p.spec;
  if (is_coded(s.a.dtype)) return is_library_kind_of_codes(p);
  const DType x = s.a.dtype, y = s.c.dtype;
  const bool types =
      s.b.dtype == x && (x == DType::f32 || x == DType::bf16 || x == DType::f16) && (y == x || y == DType::f32);
  return types && s.c.col == 1 && is_dense(s.b, s.k, s.n) && is_dense(s.a, s.m, s.k) && is_dense(s.c, s.m, s.n);
}

EinsumOperands operands_of(const Einsum& op, const LocalNode& node) {
  const auto [ins, outs] = split_spec(op.spec);
  return {{ins[0], node.in_shape(0)},
          {ins[1], node.in_shape(1)},
          {outs[0], node.out_shape(0)},
          {node.ins[0].dtype, node.ins[1].dtype, node.outs[0].dtype}};
}

std::optional<GemmProblem> product_of(const Einsum& op, const EinsumPlan& plan, const LocalNode& node) {
  const bool along_columns =
      !plan.swapped && plan.outer.empty() && count(node.in_shape(int(node.ins.size()) - 1)) == plan.gemm.n;
  if (op.bias && (!along_columns || node.ins.back().dtype != node.outs[0].dtype)) return {};
  const Loop inside = split_batch(plan.outer).inside;
  GemmProblem problem{plan.gemm, inside.n, inside.stride};
  if (plan.swapped) std::swap(problem.batch_stride[0], problem.batch_stride[1]);
  problem.adds = op.accumulate || op.plus, problem.bias = op.bias;
  problem.alignment =
      alignment(plan.outer, {size_of(node.ins[0].dtype), size_of(node.ins[1].dtype), size_of(node.outs[0].dtype)});
  return problem;
}

}  // namespace megalith::cuda
