// y = act(gate) * up (Shazeer 2020). act: silu(x) = x * logistic(x), GELU's tanh approximation, or quick_gelu(x) = x *
// logistic(1.702 x). x [s,b,2,f] holds gate, then up -> y [s,b,f]. The 2 is a separate dim, so a split of f cuts both
// equally. With `gives_amax`, set by a pass, both ops have another last result: the amax of the first one
// (ops/quantize.h).
#pragma once
#include "graph/builder.h"
#include "ops/boxes.h"

namespace megalith {

enum class Gate : u8 { silu, gelu_tanh, quick_gelu };
constexpr std::string_view name_of(Gate g) {
  constexpr std::string_view names[] = {"silu", "gelu_tanh", "quick_gelu"};
  return names[int(g)];
}

struct Swiglu {
  static constexpr std::string_view name = "swiglu";
  Gate act = Gate::silu;
  bool gives_amax = false;
  void fields(auto&& v) const {
    if (act != Gate::silu) v("act", name_of(act));
    if (gives_amax) v("gives_amax", gives_amax);
  }
  LayoutRule rule() const { return {.spec = "sbnf->sbf", .whole = "n"}; }
  std::vector<Type> infer(const InferArgs& a) const {
    std::vector<Type> out = infer_by_rule(rule(), a, {});
    if (gives_amax) out.push_back(tensor_amax(a.mesh, out[0]));
    return out;
  }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {5.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
};

// dy [s,b,f], x [s,b,2,f] -> dx [s,b,2,f]. With `with_output`, set by a pass, a second result is y again, to the bit.
// So the forward does not keep it.
struct SwigluGrad {
  static constexpr std::string_view name = "swiglu_grad";
  bool with_output = false;
  Gate act = Gate::silu;
  bool gives_amax = false;
  void fields(auto&& v) const {
    if (act != Gate::silu) v("act", name_of(act));
    if (with_output) v("with_output", with_output);
    if (gives_amax) v("gives_amax", gives_amax);
  }
  LayoutRule rule() const { return {.spec = "sbf,sbnf->sbnf", .linear = {{0}}, .whole = "n"}; }
  std::vector<Type> infer(const InferArgs& a) const {
    std::vector<Type> out = infer_by_rule(rule(), a, {a.ins[1].dtype});
    if (with_output) out.push_back(infer_by_rule(Swiglu{}.rule(), {a.mesh, {a.ins[1]}, {a.wants_grad[1]}}, {})[0]);
    if (gives_amax) out.push_back(tensor_amax(a.mesh, out[0]));
    return out;
  }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {8.0 * double(ins[1].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const {
    if (with_output) return {{0, 1}, {1, 0}};
    return {{0, 1}};
  }
};
inline Value swiglu(Builder& b, Value x, Gate act = Gate::silu) { return b.add1(Swiglu{act}, {x}); }

inline std::vector<Value> Swiglu::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {b.add1(SwigluGrad{false, act}, {dys[0], n.ins[0]})};
}

}  // namespace megalith
