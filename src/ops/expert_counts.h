// Ops on the number of tokens of each expert.
//   count_shares  n [e] -> n / sum of n; 0 if the sum is 0
//   balance_bias  bias [e] f32, n [e], scalars [4] -> bias, in place: bias + rate sign(mean(n) - n), sign(0) = 0, if
//   the
//                 step counts (ops/update.h). Runs at a step's end. DeepSeek-V3 2024, "auxiliary-loss-free".
#pragma once
#include "graph/builder.h"

namespace megalith {

struct CountShares {
  static constexpr std::string_view name = "count_shares";
  static constexpr bool differentiable = false;
  LayoutRule rule() const { return {.spec = "e->e", .whole = "e"}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {2.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
};

struct BalanceBias {
  static constexpr std::string_view name = "balance_bias";
  static constexpr bool differentiable = false;
  double rate = 1e-3;
  void fields(auto&& v) const { v("rate", rate); }
  LayoutRule rule() const { return {.spec = "e,e,n->e", .whole = "en"}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {3.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0, true}}; }
};

}  // namespace megalith
