// Elementwise activations. gelu: x * Phi(x) (erf); gelu_tanh: its tanh approximation (Hendrycks, Gimpel 2016);
// squared_relu: max(x, 0)^2. tanh: BERT's pooler. relu: max(x, 0) (on CPUs).
#pragma once
#include "graph/relayout_op.h"

namespace megalith {

enum class Act : u8 { gelu, gelu_tanh, squared_relu, tanh, relu };
constexpr std::string_view name_of(Act a) {
  constexpr std::string_view names[] = {"gelu", "gelu_tanh", "squared_relu", "tanh", "relu"};
  return names[int(a)];
}

struct Activate {
  static constexpr std::string_view name = "activate";
  Act act = Act::gelu_tanh;
  int ndim = 3;
  void fields(auto&& v) const { v("act", name_of(act)), v("ndim", ndim); }
  LayoutRule rule() const { return {.spec = letters(ndim) + "->" + letters(ndim)}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {12.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

// dy, x -> dx. A pass may set two options. With `with_output` a second result is y again, to the bit, so the forward
// does not keep it. With `bias` the last result is the sum of dx over all but its last letter, in f32 at least: the
// gradient of a bias that was added to x.
struct ActivateGrad {
  static constexpr std::string_view name = "activate_grad";
  Act act = Act::gelu_tanh;
  int ndim = 3;
  bool with_output = false, bias = false;
  void fields(auto&& v) const {
    v("act", name_of(act)), v("ndim", ndim);
    if (with_output) v("with_output", with_output);
    if (bias) v("bias", bias);
  }
  LayoutRule rule() const {
    return {.spec = letters(ndim) + "," + letters(ndim) + "->" + letters(ndim), .linear = {{0}}};
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {20.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const {
    if (with_output) return {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
    return {{0, 0}, {0, 1}};
  }
};
Value activate(Builder& b, Act act, Value x);

}  // namespace megalith
