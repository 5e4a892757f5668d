// Scales the rows and columns of a matrix of tokens and experts until their sums are similar (Sinkhorn 1964). The rule
// is Megatron Core's. z [s,b,e] -> y [s,b,e]. With c = e^z and initially d1 = 1, repeat
//   d0_t = 1/T / (sum_e d1_e c_te + 1e-8),  d1_e = 1/E / (sum_t d0_t c_te + 1e-8)
// until the mean change of d1 is at most 1e-4, or kMostRounds times. Then y = d1_e c_te d0_t. T counts the tokens that
// a rank holds. So the result depends on how tokens are distributed over ranks and micro-batches.
#pragma once
#include "graph/builder.h"

namespace megalith {

struct Sinkhorn {
  static constexpr std::string_view name = "sinkhorn";
  static constexpr bool differentiable = false;
  static constexpr int kMostRounds = 50;
  static constexpr double kEps = 1e-8, kEnough = 1e-4;
  LayoutRule rule() const { return {.spec = "sbe->sbe", .whole = "e"}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const {
    return {4.0 * kMostRounds * double(ins[0].elements()), kMostRounds * total_bytes(ins, outs)};
  }
};

}  // namespace megalith
