#include "optim/update.h"

#include "ops/update.h"

namespace megalith {

std::string main_name(const std::string& parameter) { return parameter + ".main"; }
std::string first_moment_name(const std::string& parameter) { return parameter + ".exp_avg"; }
std::string second_moment_name(const std::string& parameter) { return parameter + ".exp_avg_sq"; }

Value reduced(Builder& b, Value v) {
  const std::vector<Axis> axes = b.type(v).layout.partial.list();
  return axes.empty() ? v : b.relayout(v, axes, kSame);
}

namespace {

// The sum over all ranks of each rank's own share: where ranks hold equal values, the one at coordinate 0 counts.
Value owned_total(Builder& b, Value v) {
  std::vector<Axis> same;
  for (Axis a : kAllAxes)
    if (b.type(v).layout.state(a) == kSame) same.push_back(a);
  return same.empty() ? v : b.relayout(v, same, kPartial);
}

void update_parameter(Builder& b, const Parameter& p, Value g, Value scalars, Value hyper, const OptimizerConfig& c) {
  const Type wide{accum_of(p.type.dtype), p.type.shape, p.type.layout};
  const bool copy = p.type.dtype != wide.dtype;
  const Value w = copy ? b.leaf(leaf_of(p, main_name, wide, Role::main_parameter)) : p.value;
  const Value m = b.leaf(leaf_of(p, first_moment_name, wide, Role::optimizer));
  std::vector<Value> ins = {w, g, m};
  if (c.optimizer == OptimizerKind::adam) ins.push_back(b.leaf(leaf_of(p, second_moment_name, wide, Role::optimizer)));
  ins.push_back(scalars), ins.push_back(hyper);
  if (copy) ins.push_back(p.value);
  if (c.optimizer == OptimizerKind::adam)
    b.add(AdamW{p.type.ndim(), c.adam_beta1, c.adam_beta2, c.adam_eps, p.decay, copy}, ins);
  else
    b.add(Sgd{p.type.ndim(), c.sgd_momentum, p.decay, copy}, ins);
}

}  // namespace

void add_update(Builder& b, const std::vector<Parameter>& parameters, const GradientSums& sums,
                const OptimizerConfig& config) {
  b.set_phase(Phase::update);
  b.set_tag("gradient norm");
  std::vector<Value> gradients;
  Value squares;
  for (Value sum : sums.gradients) {
    gradients.push_back(reduced(b, sum));
    const int ndim = b.type(sum).ndim();
    const Value s = owned_total(b, b.add1(SumSquares{ndim}, {gradients.back()}));
    squares = squares ? b.add1(AddGrad{0}, {squares, s}) : s;
  }
  const Value hyper = b.leaf({"hyper", {DType::f64, {hyper::kSize}, whole(1)}, Role::scalar, false});
  const Value scalars =
      b.add1(StepScalars{config.clip_grad}, {reduced(b, squares), reduced(b, sums.loss), reduced(b, sums.tokens)});
  b.graph().outputs["step"] = scalars;
  b.set_tag("optimizer");
  for (size_t i = 0; i < parameters.size(); ++i)
    update_parameter(b, parameters[i], gradients[i], scalars, hyper, config);
}

}  // namespace megalith
