// y = x * logistic(g), or x * g: x [s,b,h], g [s,b,o] in f32 at least, with one number a token (o = 1) -> y [s,b,h].
// Qwen 2 gates the shared expert with it; Llama 4 weights the inputs of experts.
#pragma once
#include "graph/builder.h"

namespace megalith {

struct TokenGate {
  static constexpr std::string_view name = "token_gate";
  bool logistic = true;
  void fields(auto&& v) const { v("logistic", logistic); }
  LayoutRule rule() const { return {.spec = "sbh,sbo->sbh", .whole = "ho"}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {double(ins[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

// dy, x, g -> dx, dg (sums over h, in f32 at least).
struct TokenGateGrad {
  static constexpr std::string_view name = "token_gate_grad";
  bool logistic = true;
  void fields(auto&& v) const { v("logistic", logistic); }
  LayoutRule rule() const { return {.spec = "sbh,sbh,sbo->sbh,sbo", .linear = {{0}}, .whole = "ho"}; }
  std::vector<DType> dtypes(Types ins) const { return {ins[1].dtype, ins[2].dtype}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {3.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}, {0, 1}}; }
};

inline std::vector<Value> TokenGate::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return b.add(TokenGateGrad{logistic}, {dys[0], n.ins[0], n.ins[1]});
}

}  // namespace megalith
