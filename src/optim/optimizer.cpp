#include "optim/optimizer.h"

#include <algorithm>

#include "base/check.h"
#include "config/field.h"
#include "ops/update.h"

namespace megalith {

#define OPTIMIZER(name) std::unique_ptr<Optimizer> make_##name();
#include "optim/optimizers.def"
#undef OPTIMIZER

Optimizers::Optimizers() {
#define OPTIMIZER(name) all_.push_back(make_##name());
#include "optim/optimizers.def"
#undef OPTIMIZER
}

Optimizers::Optimizers(const Optimizers& other) {
  for (const auto& o : other.all_) all_.push_back(o->clone());
}
Optimizers::Optimizers(Optimizers&&) noexcept = default;
Optimizers::~Optimizers() = default;
Optimizers& Optimizers::operator=(Optimizers other) noexcept {
  all_.swap(other.all_);
  return *this;
}

bool Optimizers::operator==(const Optimizers& other) const {
  Optimizers a = *this, b = other;  // a list of fields refers to members that can be written
  return std::ranges::equal(a.all_, b.all_, [](const auto& x, const auto& y) {
    return config::differences(config::fields_of(*x), config::fields_of(*y)).empty();
  });
}

const Optimizer& Optimizers::find(std::string_view name) const {
  for (const auto& o : all_)
    if (o->name() == name) return *o;
  fail("there is no optimizer {}", name);
}

std::vector<std::string> Optimizers::names() const {
  std::vector<std::string> out;
  for (const auto& o : all_) out.emplace_back(o->name());
  return out;
}

void list_fields(Optimizer& o, config::FieldList& f) { o.list_fields(f); }

const Optimizer& updater_of(const OptimizerConfig& c, const Parameter& p) {
  return c.all.find(c.chosen().updates_by(p));
}

std::vector<std::string> state_suffixes(const OptimizerConfig& c, const std::vector<Parameter>& parameters) {
  std::vector<std::string> out;
  for (const Parameter& p : parameters)
    for (const OptimizerState& s : updater_of(c, p).states({}))
      if (std::ranges::find(out, s.suffix) == out.end()) out.push_back(s.suffix);
  return out;
}

std::vector<std::string> state_suffixes(const OptimizerConfig& c) {
  std::vector<Parameter> of_each_kind;
  for (const ParameterKind kind : {ParameterKind::matrix, ParameterKind::vector, ParameterKind::embedding,
                                   ParameterKind::positions, ParameterKind::output})
    of_each_kind.push_back({.kind = kind});
  return state_suffixes(c, of_each_kind);
}

Value update_by(Builder& b, const UpdateRule& rule, const Target& t) {
  std::vector<Value> ins = {t.weights, t.gradient};
  ins.insert(ins.end(), t.states.begin(), t.states.end());
  ins.push_back(t.scalars), ins.push_back(t.step_scalars_in);
  if (t.copy) ins.push_back(t.copy);
  const std::vector<Value> outs = b.add(Update{rule, b.type(t.weights).ndim(), t.decay, bool(t.copy)}, ins);
  return t.copy ? outs.back() : outs[0];
}

std::string mistake_of_decay(std::string_view flag, double value) {
  if (value >= 0 && value < 1) return {};
  return fmt::format("--{} {} is out of range: from 0 to below 1 is wanted", flag, value);
}

}  // namespace megalith
