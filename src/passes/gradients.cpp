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

// A given cotangent is none of the constants whose layout does not matter.
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

std::vector<TermSums> accumulate_terms(Builder& b, const std::vector<LossTerm>& terms, const std::string& suffix,
                                       bool has_loss) {
  b.set_module("sums");
  std::vector<TermSums> out;
  for (const LossTerm& t : terms) {
    const auto [sum, weight] = names_of(t.name, has_loss && out.empty(), suffix);
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

static std::string seen_name(const Parameter& tensor) { return tensor.name + ".seen"; }

std::vector<SeenSum> accumulate_seen(Builder& b, const std::vector<Untrained>& untrained) {
  b.set_phase(Phase::backward), b.set_module("untrained state");
  std::vector<SeenSum> out;
  for (const Untrained& u : untrained) {
    if (!u.at_end) continue;
    const Type type = b.type(u.seen);
    const Value sum = b.leaf({seen_name(u.tensor), type, Role::scalar});
    out.push_back({u.tensor, *u.at_end, type, b.add1(Accumulate{type.ndim(), true}, {sum, u.seen})});
  }
  return out;
}

SeenSum seen_leaves(Builder& b, const SeenSum& of) {
  SeenSum out = of;
  out.tensor.value = b.leaf({of.tensor.name, of.tensor.type, Role::cache});
  out.sum = b.leaf({seen_name(of.tensor), of.type, Role::scalar});
  return out;
}

// Summed, and Same on all axes.
static Value same_everywhere(Builder& b, Value v) {
  for (const AxisSet axes : {b.type(v).layout.partial, b.type(v).layout.copy})
    if (!axes.empty()) v = b.relayout(v, axes, kSame);
  return v;
}

void update_at_end(Builder& b, const std::vector<SeenSum>& seen, Value scalars) {
  b.set_phase(Phase::update), b.set_module("untrained state");
  for (const SeenSum& s : seen)
    b.add1(s.at_end, {s.tensor.value, same_everywhere(b, s.sum), same_everywhere(b, scalars)});
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
