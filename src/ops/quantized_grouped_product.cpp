#include "ops/quantized_grouped_product.h"

namespace megalith {

namespace {

// The operands of the product of values: x and w in the order before they were turned, and the ends.
std::vector<Type> values_of(const QuantizedGroupedProduct& op, Types ins) {
  std::vector<Type> out = {ins[0], ins[2], ins[4]};
  for (int i = 0; i < 2; ++i)
    if (const Turn turn = op.turn(i); turn.split) out[size_t(i)] = turned_back(out[size_t(i)], turn);
  return out;
}

}  // namespace

Turn QuantizedGroupedProduct::turn(int operand) const {
  if (!turned) return {};
  if (sums_rows()) return {.split = 1};
  if (operand == 0) return {};
  const auto [ins, outs] = split_spec(spec);
  const size_t results = outs[0].size() - 1;  // letters of w that y has too, without the expert
  return ins[1].substr(1, results) == outs[0].substr(1) ? Turn{} : Turn{.split = int(ins[0].size()) - 1, .kept = 1};
}

std::vector<Type> QuantizedGroupedProduct::infer(const InferArgs& a) const {
  check(a.ins.size() == 5u + accumulate, "{}: got {} inputs", spec, a.ins.size());
  for (const size_t i : {size_t{0}, size_t{2}}) {
    const CodeFormat format = i == 0 ? x_format : w_format;
    if (format == CodeFormat::e2m1 || a.ins[i].dtype != dtype_of_codes(format))
      fail("{}: operand {} is not of fp8 {} codes", spec, to_string(a.ins[i]), name_of(format));
    if (a.ins[i + 1].dtype != DType::f32 || local_type(a.mesh, a.ins[i + 1]).elements() != 1)
      fail("{}: scales are {}, want one number on a rank", spec, to_string(a.ins[i + 1]));
  }
  InferArgs of{a.mesh, values_of(*this, a.ins), {true, true, false}};
  if (accumulate) of.ins.push_back(a.ins[5]), of.wants_grad.push_back(false);
  return of_values().infer(of);
}

Cost QuantizedGroupedProduct::cost(Types ins, Types outs) const {
  return of_values().cost(values_of(*this, ins), outs);
}

GroupedShape grouped_shape(const QuantizedGroupedProduct& op, Types ins) {
  return grouped_shape(op.of_values(), values_of(op, ins));
}

}  // namespace megalith
