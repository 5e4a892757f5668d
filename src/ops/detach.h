// y = x. The backward treats y as a constant: x gets no gradient through it.
#pragma once
#include "graph/relayout_op.h"

namespace megalith {

struct Detach {
  static constexpr std::string_view name = "detach";
  static constexpr bool differentiable = false;
  int ndim = 0;
  void fields(auto&& v) const { v("ndim", ndim); }
  LayoutRule rule() const { return {.spec = letters(ndim) + "->" + letters(ndim), .linear = {{0}}}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types, Types) const { return {}; }
  std::vector<Alias> aliases() const { return {{.out = 0, .in = 0, .view = true}}; }
};

}  // namespace megalith
