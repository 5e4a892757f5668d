// Collects numbers from many places of a step in one vector.
//   add_into   sums [n] f64, x [..] f32 or f64 -> sums, in place: x's elements are added from element `at` on, or
//              overwrite it in a step's first micro-batch
//   read_from  sums [n] f64 -> [size] f32: the elements from `at` on
#pragma once
#include "graph/relayout_op.h"

namespace megalith {

struct AddInto {
  static constexpr std::string_view name = "add_into";
  static constexpr bool differentiable = false;
  int ndim = 0;  // of x
  i64 at = 0;
  void fields(auto&& v) const { v("ndim", ndim), v("at", at); }
  LayoutRule rule() const {
    return {.spec = "n," + letters(ndim) + "->n", .linear = {{0, 1}}, .whole = "n" + letters(ndim)};
  }
  std::vector<DType> dtypes(Types) const { return {DType::f64}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types) const { return {double(ins[1].elements()), double(3 * ins[1].bytes())}; }
  std::vector<Alias> aliases() const { return {{0, 0, true}}; }
};

struct ReadFrom {
  static constexpr std::string_view name = "read_from";
  static constexpr bool differentiable = false;
  i64 at = 0, size = 0;
  void fields(auto&& v) const { v("at", at), v("size", size); }
  LayoutRule rule() const { return {.spec = "n->e", .whole = "n", .sizes = {{'e', size}}}; }
  std::vector<DType> dtypes(Types) const { return {DType::f32}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types, Types outs) const { return {0, double(3 * outs[0].bytes())}; }
};

}  // namespace megalith
