// The end of a step with delayed scaling.
#include "ops/cast_counts.h"
#include "ops/delayed_scale.h"
#include "passes/quantize.h"

namespace megalith {

namespace {

Value known_to_all(Builder& b, Value v) {
  const AxisSet copy = b.type(v).layout.copy;
  return copy.empty() ? v : b.relayout(v, copy, kSame);
}

}  // namespace

Type seen_type(const Mesh& mesh, size_t layers) {
  Type out{DType::f32, {kTensorsOfLayer * i64(layers)}, whole(1)};
  out.layout.max = mesh.used(groups::stage);
  return out;
}

Type counts_type(const Mesh& mesh, size_t layers) {
  Type out{DType::f64, {kTensorsOfLayer * i64(layers), kCastCounts}, whole(2)};
  out.layout.partial = mesh.used(groups::stage);
  return out;
}

void update_scales(Builder& b, const QuantizeConfig& config, const ScaleStates& states, Value seen, Value scalars) {
  b.set_phase(Phase::update), b.set_module("amax");
  const AxisSet axes = b.type(seen).layout.max;
  const Value total = axes.empty() ? seen : b.relayout(seen, axes, kSame);
  scalars = known_to_all(b, scalars);
  DelayedScale op{.largest = config.amax_algorithm == QuantizeConfig::AmaxAlgorithm::max, .margin = int(config.margin)};
  if (config.format == QuantizeConfig::Format::hybrid) op.gradients = CodeFormat::e5m2;
  op.layers = i64(states.names.size());
  std::vector<Value> ins;
  for (const std::string& name : states.names) ins.push_back(b.leaf({name, states.type, Role::cache}));
  ins.push_back(total), ins.push_back(scalars);
  b.add(op, ins);
}

}  // namespace megalith
