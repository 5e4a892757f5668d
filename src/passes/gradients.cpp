#include "passes/gradients.h"

#include <algorithm>

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

// A given cotangent must not be a constant whose layout does not matter.
static Value root_of(Builder& b, const LossTerm& term) {
  const Type want = b.type(term.sum).dual(b.grad_dtype(term.sum)), &type = b.type(term.cotangent);
  check(type == want, "the cotangent of {} is {}: want {}", term.name, to_string(type), to_string(want));
  b.graph().values[size_t(term.cotangent.id)].wants_grad = true;
  return term.cotangent;
}

std::map<Value, Value> roots_of(Builder& b, const std::vector<LossTerm>& terms, bool has_loss) {
  std::map<Value, Value> out;
  b.set_phase(Phase::backward);
  for (size_t i = 0; i < terms.size(); ++i)
    if (has_loss && i == 0)
      out[terms[i].sum] = seed_of(b, terms[i].sum);
    else if (terms[i].cotangent)
      out[terms[i].sum] = root_of(b, terms[i]);
  return out;
}

LossSums accumulate_loss(Builder& b, const LossTerm& loss) {
  b.set_module("sums");
  const Value sum = accumulate_scalar(b, kLossSum, loss.sum);
  return {sum, accumulate_scalar(b, kTokenSum, loss.weight)};
}

LossSums accumulate_term(Builder& b, const LossTerm& term) {
  b.set_module("sums");
  const Value sum = accumulate_scalar(b, "evaluated " + term.name + " sum", term.sum);
  return {sum, accumulate_scalar(b, "evaluated " + term.name + " weight", term.weight)};
}

LossSums loss_leaves(Builder& b, const AxisSet& axes) {
  Type type{DType::f64, {}, whole(0)};
  type.layout.partial = axes;
  const Value sum = b.leaf({kLossSum, type, Role::scalar});
  return {sum, b.leaf({kTokenSum, type, Role::scalar})};
}

Value gradient_leaf(Builder& b, const Parameter& p, const Precision& precision) {
  return b.leaf(leaf_of(p, gradient_name, p.type.dual(precision.gradients), Role::gradient));
}

// A stage may hold a tied parameter whose gradient comes from another stage only.
static Value cotangent_of(Builder& b, const Parameter& p, const std::map<Value, Value>& cot, const Type& type) {
  const auto found = cot.find(p.value);
  if (found != cot.end()) return found->second;
  check(p.tied(), "the loss does not depend on parameter {}", p.name);
  return b.add1(Scale{type.ndim(), 0}, {b.add1(Ones{type}, {})});
}

std::vector<Value> accumulate_gradients(Builder& b, const std::vector<Parameter>& parameters,
                                        const std::map<Value, Value>& cot, const Precision& precision) {
  std::vector<Value> out;
  b.set_module("accumulate");
  for (const Parameter& p : parameters) {
    const Value acc = gradient_leaf(b, p, precision);
    out.push_back(b.add1(Accumulate{p.type.ndim(), !p.is_begun}, {acc, cotangent_of(b, p, cot, b.type(acc))}));
  }
  return out;
}

void update_untrained(Builder& b, const std::vector<Untrained>& untrained) {
  b.set_phase(Phase::backward), b.set_module("untrained state");
  for (const Untrained& u : untrained) {
    if (!u.update) continue;
    const Type &has = u.tensor.type, &gets = b.type(u.update);
    check(has == gets, "{} is {}, and its update {}: make them one type", u.tensor.name, to_string(has),
          to_string(gets));
    b.add1(Accumulate{has.ndim(), false}, {u.tensor.value, u.update});
  }
}

bool updates_untrained(const Graph& g, const Node& n) {
  if (n.phase != Phase::backward) return false;
  const std::vector<Alias> aliases = n.op.aliases();
  return std::ranges::any_of(aliases,
                             [&](const Alias& a) { return a.must && g.info(n.ins[size_t(a.in)]).role == Role::cache; });
}

Accumulators add_gradients(Builder& b, const std::vector<Parameter>& parameters, const std::vector<LossTerm>& terms,
                           const Precision& precision) {
  const std::map<Value, Value> cot = backward(b, roots_of(b, terms));
  Accumulators out{{}, accumulate_loss(b, terms.at(0))};
  out.gradients = accumulate_gradients(b, parameters, cot, precision);
  return out;
}

}  // namespace megalith
