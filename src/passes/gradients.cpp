#include "passes/gradients.h"

#include "ops/scale.h"
#include "ops/update.h"
#include "passes/pass.h"

namespace megalith {

std::string gradient_name(const std::string& parameter) { return parameter + ".grad"; }

static Value accumulate_scalar(Builder& b, const std::string& name, Value x) {
  const Value wide = b.type(x).dtype == DType::f64 ? x : b.add1(Cast{0, DType::f64}, {x});
  const Value acc = b.leaf({name, b.type(wide), Role::scalar, false});
  return b.add1(Accumulate{0, true}, {acc, wide});
}

Accumulators add_loss_sums(Builder& b, Value loss, Value tokens) {
  b.set_module("sums");
  Accumulators out;
  out.loss = accumulate_scalar(b, "loss_sum", loss);
  out.tokens = accumulate_scalar(b, "token_sum", tokens);
  return out;
}

std::vector<Value> accumulate_gradients(Builder& b, const std::vector<Parameter>& parameters,
                                        const std::map<Value, Value>& cot) {
  std::vector<Value> out;
  b.set_module("accumulate");
  for (const Parameter& p : parameters) {
    const auto g = cot.find(p.value);
    check(g != cot.end(), "the loss does not depend on parameter {}", p.name);
    const Type type = b.type(p.value).dual(b.grad_dtype(p.value));
    const Value acc = b.leaf(leaf_of(p, gradient_name, type, Role::gradient));
    out.push_back(b.add1(Accumulate{type.ndim(), true}, {acc, g->second}));
  }
  return out;
}

Accumulators add_gradients(Builder& b, const std::vector<Parameter>& parameters, Value loss, Value tokens) {
  const std::map<Value, Value> cot = backward(b, loss);
  Accumulators out = add_loss_sums(b, loss, tokens);
  out.gradients = accumulate_gradients(b, parameters, cot);
  return out;
}

}  // namespace megalith
