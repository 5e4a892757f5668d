// Random numbers in a router. They are keyed by the seed, the sample number of a row, and the other global indices, as
// dropout's. So each layout draws the same. rows [b]: the sample number of each row.
//   jitter       x [s,b,h], rows -> x times a number of [1 - eps, 1 + eps) (Fedus 2021)
//   fake_logits  z [s,b,e], rows -> numbers of [-1, 1), or with `add` z + add times a normal number of each expert. z's
//                gradient is the result's: a router with random choices still learns.
#pragma once
#include "graph/builder.h"

namespace megalith {

struct Jitter {
  static constexpr std::string_view name = "jitter";
  double eps = 0;
  u64 seed = 0;  // of the layer and of the run
  void fields(auto&& v) const { v("eps", eps), v("seed", seed); }
  LayoutRule rule() const { return {.spec = "sbh,b->sbh", .linear = {{0}}}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const {
    return {b.add1(*this, {dys[0], n.ins[1]}), {}};
  }
  Cost cost(Types ins, Types outs) const { return {8.0 * double(outs[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

struct FakeLogits {
  static constexpr std::string_view name = "fake_logits";
  double add = 0;  // 0: the numbers alone
  u64 seed = 0;
  void fields(auto&& v) const { v("add", add), v("seed", seed); }
  LayoutRule rule() const { return {.spec = "sbe,b->sbe"}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value> dys) const { return {dys[0], {}}; }
  Cost cost(Types ins, Types outs) const { return {8.0 * double(outs[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

}  // namespace megalith
