// y = a / b for single numbers; 0 if b is 0.
#pragma once
#include "graph/relayout_op.h"

namespace megalith {

struct Quotient {
  static constexpr std::string_view name = "quotient";
  static constexpr bool differentiable = false;
  void fields(auto&&) const {}
  LayoutRule rule() const { return {.spec = ",->"}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {1, total_bytes(ins, outs)}; }
};

}  // namespace megalith
