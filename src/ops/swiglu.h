// y = silu(gate) * up (Shazeer 2020). x [s,b,2,f] holds gate, then up -> y [s,b,f]. The 2 is a dim of its own, so a
// split of f cuts both alike.
#pragma once
#include "graph/builder.h"

namespace megalith {

struct Swiglu {
  static constexpr std::string_view name = "swiglu";
  LayoutRule rule() const { return {.spec = "sbnf->sbf", .whole = "n"}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {5.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
};

// dy [s,b,f], x [s,b,2,f] -> dx [s,b,2,f]. With `again`, which a pass makes, a second result is y once more, to the
// bit: the forward's need not be kept.
struct SwigluGrad {
  static constexpr std::string_view name = "swiglu_grad";
  bool again = false;
  void fields(auto&& v) const {
    if (again) v("again", again);
  }
  LayoutRule rule() const { return {.spec = "sbf,sbnf->sbnf", .linear = {{0}}, .whole = "n"}; }
  std::vector<Type> infer(const InferArgs& a) const {
    std::vector<Type> out = infer_by_rule(rule(), a, {a.ins[1].dtype});
    if (again) out.push_back(infer_by_rule(Swiglu{}.rule(), {a.mesh, {a.ins[1]}, {a.wants_grad[1]}}, {})[0]);
    return out;
  }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {8.0 * double(ins[1].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const {
    if (again) return {{0, 1}, {1, 0}};
    return {{0, 1}};
  }
};
inline Value swiglu(Builder& b, Value x) { return b.add1(Swiglu{}, {x}); }

inline std::vector<Value> Swiglu::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {b.add1(SwigluGrad{}, {dys[0], n.ins[0]})};
}

}  // namespace megalith
