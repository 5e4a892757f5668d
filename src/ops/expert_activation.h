// The op between an expert's two products: act(u) times the row's weight. Rows are ragged (ops/ragged.h). If gated, u
// [n,2,f] holds gate, then up, and act(u) = act(gate) * up (ops/swiglu.h). Otherwise u is [n,f] (ops/activate.h).
#pragma once
#include "ops/activate.h"
#include "ops/ragged.h"
#include "ops/swiglu.h"

namespace megalith {

struct ExpertAct {
  bool gated = true;
  Gate gate = Gate::silu;  // if gated
  Act act = Act::gelu_tanh;
  std::string_view name() const { return gated ? name_of(gate) : name_of(act); }
  std::string letters() const { return gated ? "enmf" : "enf"; }
};

// u, weights [n] in f32 at least, ends [d,e] -> y [n,f].
struct ExpertActivation {
  static constexpr std::string_view name = "expert_activation";
  ExpertAct act;
  double filled = 1;  // average filled fraction of n, for the cost
  void fields(auto&& v) const {
    v("act", act.name());
    if (filled != 1) v("filled", filled);
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const {
    return {6.0 * filled * double(ins[0].elements()), filled * total_bytes(ins, outs)};
  }
};

// dy [n,f], u, weights, ends -> du, dweights [n] (sums over f, in f32 at least). With `with_output`, set by a pass, the
// last result is y again, to the bit.
struct ExpertActivationGrad {
  static constexpr std::string_view name = "expert_activation_grad";
  ExpertAct act;
  bool with_output = false;
  double filled = 1;
  void fields(auto&& v) const {
    v("act", act.name());
    if (with_output) v("with_output", with_output);
    if (filled != 1) v("filled", filled);
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const {
    return {12.0 * filled * double(ins[1].elements()), filled * total_bytes(ins, outs)};
  }
  std::vector<Alias> aliases() const {
    if (with_output) return {{0, 1}, {2, 0}};
    return {{0, 1}};
  }
};

Value expert_activation(Builder& b, const ExpertAct& act, Value u, Value weights, const ExpertPlan& plan);

}  // namespace megalith
