// y = x * keep / (1 - p). The mask is keyed by (seed, sample number, global indices). So it is the same under every
// layout and order, and the gradient is the op itself. Inputs: x, rows [b] (the global sample number of each row). spec
// "sbh,b->sbh".
#pragma once
#include "graph/builder.h"

namespace megalith {

struct Dropout {
  static constexpr std::string_view name = "dropout";
  std::string spec;
  double p = 0;
  u64 seed = 0;  // depends on the run and on the position in the model
  void fields(auto&& v) const { v("spec", spec), v("p", p), v("seed", seed); }
  LayoutRule rule() const { return {.spec = spec, .linear = {{0}}}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const {
    return {b.add1(*this, {dys[0], n.ins[1]}), {}};
  }
  Cost cost(Types ins, Types outs) const { return {8.0 * double(outs[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

}  // namespace megalith
