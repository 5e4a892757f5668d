#include "exec/sim/coded_form.h"

#include <fmt/format.h>

#include <utility>

#include "exec/cuda_needs/code_product.h"

namespace megalith::sim {

namespace {

constexpr std::string_view kCodes = "f8_";  // products of decoded values have another first word

std::string_view blocks_name(cuda::CodeScales s) {
  constexpr std::string_view names[] = {"", " rows", " squares"};
  return names[int(s)];
}

// A tensor's scale has no box in the form: its size is that of the tensor.
bool has_boxes(Scaling s) { return s != Scaling::quotient && s != Scaling::kept; }

}  // namespace

std::string factors_form(const QuantizedProduct& op, const cuda::LocalNode& node, bool swapped) {
  auto left = name_of(op.x_format), right = name_of(op.w_format);
  if (swapped) std::swap(left, right);
  if (cuda::has_two_scales(op, node)) return fmt::format("{}tensors {} x {}", kCodes, left, right);
  if (const auto p = cuda::block_product(op, node))
    return fmt::format("{}blocks {}{} x {}{}", kCodes, left, blocks_name(p->problem.a_scales), right,
                       blocks_name(p->problem.b_scales));
  return fmt::format("decoded {} x {}", left, right);
}

std::string cast_form(const Quantize& cast) {
  std::string form = fmt::format("{}, {}", name_of(cast.scaling), name_of(cast.orders));
  if (cast.by_sequence) form += ", by sequence";
  if (has_boxes(cast.scaling))
    form += fmt::format(", boxes of {} {}", count(cast.box), cast.box.back() > 1 ? "in rows" : "in columns");
  if (cast.stochastic) form += ", stochastic";
  return form;
}

std::string casts_form(const CodedResult& op) {
  std::string form(op.op ? op.op->name() : "values");
  for (const Quantize& cast : op.casts) form += "; " + cast_form(cast);
  return form;
}

bool multiplies_codes(std::string_view form) { return form.find(kCodes) != form.npos; }

}  // namespace megalith::sim
