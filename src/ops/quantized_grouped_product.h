// A grouped product (ops/grouped_product.h) of codes with one scale an operand: x's codes and scale_inv, w's codes and
// scale_inv, ends, [acc] -> y like GroupedProduct's. y = (the sum of products of codes) x both scales.
//
// `turned`, for GPUs: the summed dims are last in both operands. Rows that are summed become [.., n]. Of a weight
// [e, in.., out..] the letters behind e are exchanged, to [e, out.., in..]. `spec` has the letters before that.
#pragma once
#include "ops/grouped_product.h"
#include "ops/quantize.h"

namespace megalith {

struct QuantizedGroupedProduct {
  static constexpr std::string_view name = "quantized_grouped_product";
  std::string spec;
  DType dtype = DType::f32;  // of y
  CodeFormat x_format = CodeFormat::e4m3, w_format = CodeFormat::e4m3;
  bool accumulate = false, starts = false;
  bool turned = false;
  double filled = 1;

  void fields(auto&& v) const {
    v("spec", spec), v("dtype", name_of(dtype)), v("x", name_of(x_format)), v("w", name_of(w_format));
    if (accumulate) v("accumulate", starts ? "starts" : "adds");
    if (turned) v("turned", turned);
    if (filled != 1) v("filled", filled);
  }
  GroupedProduct of_values() const { return {spec, dtype, accumulate, starts, filled}; }
  bool sums_rows() const { return of_values().sums_rows(); }
  // How the codes of operand 0 or 1 are transposed if `turned`. split 0: they are as before.
  Turn turn(int operand) const;
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const;
  std::vector<Alias> aliases() const {
    if (accumulate) return {{0, 5, true}};
    return {};
  }
};

// The sizes of the product, by local types of its inputs.
GroupedShape grouped_shape(const QuantizedGroupedProduct& op, Types ins);

}  // namespace megalith
