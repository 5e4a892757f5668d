// Random numbers in a router. Like those of dropout they are keyed by the seed, a row's sample number, and the other
// global indices. So they are the same under every layout. rows [b]: the sample number of each row.
//   jitter       x [s,b,h], rows -> x times a number in [1 - eps, 1 + eps) (Fedus 2021)
//   fake_logits  z [s,b,e], rows -> numbers in [-1, 1); with `add` z + add times one normal number for each expert. The
//                gradient of z is that of the result, so a router with random choices still learns.
#pragma once
#include "graph/builder.h"

namespace megalith {

struct Jitter {
  static constexpr std::string_view name = "jitter";
  double eps = 0;
  u64 seed = 0;  // depends on the layer and the run
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
  double add = 0;  // 0: only the random numbers
  u64 seed = 0;
  void fields(auto&& v) const { v("add", add), v("seed", seed); }
  LayoutRule rule() const { return {.spec = "sbe,b->sbe"}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value> dys) const { return {dys[0], {}}; }
  Cost cost(Types ins, Types outs) const { return {8.0 * double(outs[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

}  // namespace megalith
