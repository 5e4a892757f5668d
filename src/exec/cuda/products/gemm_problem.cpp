#include <fmt/ranges.h>

#include "exec/cuda/products/gemm.h"

namespace megalith::cuda {

std::string to_string(const GemmProblem& p) {
  const GemmSpec& s = p.spec;
  const auto matrix = [](const Matrix& m) { return fmt::format("{} {}:{}", name_of(m.dtype), m.row, m.col); };
  std::string text = fmt::format("{}x{}x{} a {} b {} y {}", s.m, s.n, s.k, matrix(s.a), matrix(s.b), matrix(s.c));
  if (p.batch > 1) text += fmt::format(" batch {} by {}", p.batch, fmt::join(p.batch_stride, ":"));
  if (p.adds) text += " adds";
  if (p.bias) text += " bias";
  if (p.alignment != 256) text += fmt::format(" aligned to {}", p.alignment);
  return text;
}

}  // namespace megalith::cuda
