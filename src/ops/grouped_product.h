// Products of experts' rows (ops/ragged.h) with the expert's own weight:
//   "nh,efh->nf"   rows [n,h], w [e,f,h] -> [n,f]            forward; also "nh,emfh->nmf", "nf,ehf->nh"
//   "nf,efh->nh"   dy [n,f], w [e,f,h] -> dx [n,h]            gradient of the rows
//   "nf,nh->efh"   dy [n,f], x [n,h] -> dw [e,f,h]            gradient of the weight: sum over an expert's rows
// After x and w comes `ends` [d,e] of the plan (ops/expert_rows.h). An expert without rows gives a weight gradient of
// 0. With `accumulate` the last input, of y's type, is the accumulator, updated in place as in ops/einsum.h: y = acc +
// product, or y = product in a step's first micro-batch if `starts`.
#pragma once
#include "graph/builder.h"
#include "ops/ragged.h"

namespace megalith {

struct GroupedProduct {
  static constexpr std::string_view name = "grouped_product";
  std::string spec;
  DType dtype = DType::f32;  // of y; sums run in f32 at least
  bool accumulate = false, starts = false;
  double filled = 1;  // average filled fraction of n, for the cost

  void fields(auto&& v) const {
    v("spec", spec), v("dtype", name_of(dtype));
    if (accumulate) v("accumulate", starts ? "starts" : "adds");
    if (filled != 1) v("filled", filled);
  }
  bool sums_rows() const { return spec.substr(spec.find("->")).find('n') == std::string::npos; }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const;  // 2 flops a multiply-add
  std::vector<Alias> aliases() const {
    if (accumulate) return {{0, 3, true}};
    return {};
  }
};

// The computation on a rank, by local types: for each expert e, with its rows r,
//   rows:     y [r, out] = x [r, in] w_e^T, w_e [out, in]; with `transposed` w_e is [in, out] and not transposed
//   sums:     y_e [out, in] = sum over r of a [r, out] b [r, in]
// All memory is dense and row-major; several letters are one dim.
struct GroupedShape {
  bool sums = false, transposed = false;
  i64 experts = 0, bound = 0;  // bound: maximum number of rows
  i64 out = 0, in = 0;
};
GroupedShape grouped_shape(const GroupedProduct& op, Types ins);

// The product of rows [n,...] with a weight [e,...], by the forward's spec.
Value grouped_product(Builder& b, const std::string& spec, Value rows, Value weight, Value ends, double filled = 1);

}  // namespace megalith
