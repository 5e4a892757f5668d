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

// The first term's leaves are known by these names to the update and to checkpoints of its numbers.
static std::pair<std::string, std::string> names_of(const std::string& term, bool first, const std::string& suffix) {
  if (first) return {"loss_sum", "token_sum"};
  return {term + " sum" + suffix, term + " weight" + suffix};
}

std::map<Value, Value> roots_of(Builder& b, const std::vector<LossTerm>& terms) {
  std::map<Value, Value> out;
  b.set_phase(Phase::backward);
  for (size_t i = 0; i < terms.size(); ++i) {
    Value root = terms[i].cotangent;
    if (i == 0) root = seed_of(b, terms[i].sum);
    if (root) out[terms[i].sum] = root;
  }
  return out;
}

std::vector<TermSums> accumulate_terms(Builder& b, const std::vector<LossTerm>& terms, const std::string& suffix) {
  b.set_module("sums");
  std::vector<TermSums> out;
  for (const LossTerm& t : terms) {
    const auto [sum, weight] = names_of(t.name, out.empty(), suffix);
    const Value total = accumulate_scalar(b, sum, t.sum);
    out.push_back({t.name, total, accumulate_scalar(b, weight, t.weight)});
  }
  return out;
}

TermSums term_leaves(Builder& b, const std::string& name, bool first, const std::string& suffix, const AxisSet& axes) {
  Type type{DType::f64, {}, whole(0)};
  type.layout.partial = axes;
  const auto [sum, weight] = names_of(name, first, suffix);
  const Value total = b.leaf({sum, type, Role::scalar});
  return {name, total, b.leaf({weight, type, Role::scalar})};
}

Value gradient_leaf(Builder& b, const Parameter& p, const Precision& precision) {
  return b.leaf(leaf_of(p, gradient_name, p.type.dual(precision.gradients), Role::gradient));
}

std::vector<Value> accumulate_gradients(Builder& b, const std::vector<Parameter>& parameters,
                                        const std::map<Value, Value>& cot, const Precision& precision) {
  std::vector<Value> out;
  b.set_module("accumulate");
  for (const Parameter& p : parameters) {
    const auto g = cot.find(p.value);
    check(g != cot.end(), "the loss does not depend on parameter {}", p.name);
    const Value acc = gradient_leaf(b, p, precision);
    out.push_back(b.add1(Accumulate{p.type.ndim(), true}, {acc, g->second}));
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
  Accumulators out{{}, accumulate_terms(b, terms)};
  out.gradients = accumulate_gradients(b, parameters, cot, precision);
  return out;
}

}  // namespace megalith
