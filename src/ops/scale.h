// y = k * x, also with another element type of y.
#pragma once
#include "graph/relayout_op.h"

namespace megalith {

struct Scale {
  static constexpr std::string_view name = "scale";
  int ndim = 0;
  double k = 1;
  void fields(auto&& v) const { v("ndim", ndim), v("k", k); }
  LayoutRule rule() const { return {.spec = letters(ndim) + "->" + letters(ndim), .linear = {{0}}}; }
  std::vector<Value> grad(Builder& b, const Node&, std::span<const Value> dys) const {
    return {b.add1(*this, {dys[0]})};
  }
  Cost cost(Types ins, Types outs) const { return {double(outs[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

struct Cast {
  static constexpr std::string_view name = "cast";
  int ndim = 0;
  DType dtype = DType::f32;
  void fields(auto&& v) const { v("ndim", ndim), v("dtype", name_of(dtype)); }
  LayoutRule rule() const { return {.spec = letters(ndim) + "->" + letters(ndim), .linear = {{0}}}; }
  std::vector<DType> dtypes(Types) const { return {dtype}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const {
    return {b.add1(Cast{ndim, b.grad_dtype(n.ins[0])}, {dys[0]})};
  }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
};

}  // namespace megalith
