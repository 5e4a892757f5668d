#include "optim/update.h"

#include "ops/einsum.h"
#include "ops/scale.h"
#include "ops/tally.h"
#include "ops/update.h"
#include "optim/offload.h"
#include "optim/optimizer.h"

namespace megalith {

std::string main_name(const std::string& parameter) { return parameter + ".main"; }

std::string step_scalars_in_name(const OptimizerConfig& config, const Optimizer& optimizer, bool own_rate) {
  const std::string name = own_rate ? "decoupled step_scalars_in" : "step_scalars_in";
  return &optimizer == &config.chosen() ? name : fmt::format("{} {}", optimizer.name(), name);
}

DType main_type(DType weights, DType main, bool host) {
  return weights == DType::bf16 && main == DType::f32 && !host ? DType::u16 : main;
}

Value reduced(Builder& b, Value v) {
  const AxisSet axes = b.type(v).layout.partial;
  return axes.empty() ? v : b.relayout(v, axes, kSame);
}

Value stage_term(Builder& b, Value v) { return b.mesh().n(groups::pipeline) > 1 ? b.add1(StageTerm{}, {v}) : v; }

Value owned_total(Builder& b, Value v) {
  if (const AxisSet copy = b.type(v).layout.copy; !copy.empty()) v = b.relayout(v, copy, kPartial);
  AxisSet same;
  for (Axis a : kAllAxes)
    if (b.type(v).layout.state(a) == kSame) same.insert(a);
  return same.empty() ? v : b.relayout(v, same, kPartial);
}

namespace {

// The sum of what these stages have.
Value sum_of_stages(Builder& b, Value v, const std::vector<int>& stages) {
  const Value term = stage_term(b, v);
  Relayout op{groups::pipeline, kPartial, kSame, Order::block, Order::block, Transfer::all_reduce};
  op.stages = stages;
  return b.add1(op, {term});
}

// Parameters on several stages. Stages may list them in different orders, so sums go in the order of names.
void add_up_stages(Builder& b, const std::vector<Parameter>& parameters, const std::vector<Bucket>& buckets,
                   std::vector<Value>& gradients) {
  std::map<std::string, size_t> shared;  // a bucket has one
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Parameter& p = parameters[buckets.empty() ? i : buckets[i].members[0]];
    if (p.tied()) shared[p.name] = i;
  }
  for (const auto& [name, i] : shared) {
    const std::vector<int>& stages = buckets.empty() ? parameters[i].stages : buckets[i].stages;
    gradients[i] = sum_of_stages(b, gradients[i], stages);
  }
}

Value step_scalars_in_leaf(Builder& b, const OptimizerConfig& c, const Optimizer& o, bool own_rate) {
  const Type type{DType::f64, {step_scalars_in::kOwn + o.scalars()}, whole(1)};
  return b.leaf({step_scalars_in_name(c, o, own_rate), type, Role::scalar, false});
}

// A leaf for a parameter, and for each parameter that is packed in it.
LeafSpec leaf_beside(const Parameter& p, const std::string& suffix, DType dtype, Role role, bool host) {
  const auto name = [&](const Parameter& of) { return fmt::format("{}.{}", of.name, suffix); };
  LeafSpec leaf{.name = name(p), .type = {dtype, p.type.shape, p.type.layout}, .role = role, .host = host};
  for (const Parameter& part : p.parts) leaf.parts.push_back({name(part), part.type.shape});
  return leaf;
}

Value loss_scale_leaf(Builder& b) {
  return b.leaf({kLossScale, {DType::f64, {loss_scale_state::kSize}, whole(1)}, Role::scalar, false});
}

// The output `step`, and with a scaled loss that of its scale.
Value decide(Builder& b, double clip, Value squares, const GradientSums& sums,
             const std::optional<LossScaling>& scaling) {
  std::vector<Value> ins = {reduced(b, squares), reduced(b, stage_term(b, sums.loss)),
                            reduced(b, stage_term(b, sums.tokens))};
  if (scaling) ins.push_back(loss_scale_leaf(b));
  const std::vector<Value> outs = b.add(StepScalars{clip, scaling}, ins);
  if (scaling) b.graph().outputs[kLossScale] = outs[1];
  return b.graph().outputs["step"] = outs[0];
}

// The new weights of a parameter, or of a rank's part of a bucket.
Value add_optimizer(Builder& b, const Parameter& p, Value gradient, Value scalars, const OptimizerConfig& c,
                    const Precision& precision, bool host) {
  const Optimizer& o = updater_of(c, p);
  Target t{.like = p, .weights = p.value, .gradient = gradient, .scalars = scalars, .decay = p.decays()};
  if (const Value main = main_leaf(b, p, precision, host)) t.copy = p.value, t.weights = main;
  for (const OptimizerState& s : o.states(precision)) t.states.push_back(state_leaf(b, p, s, host));
  t.step_scalars_in = step_scalars_in_leaf(b, c, o, has_own_rate(p, c));
  return o.update(b, t);
}

Value add_optimizer(Builder& b, const Bucket& bucket, const Parameter& like, Value gradient, Value scalars,
                    const OptimizerConfig& c, const Precision& precision) {
  const Optimizer& o = updater_of(c, like);
  Target t{.like = like, .gradient = gradient, .scalars = scalars, .decay = bucket.decay, .stacked = bucket.stacked};
  t.weights = main_leaf(b, bucket);
  if (bucket.has_copy()) t.copy = weights_shard_leaf(b, bucket);
  for (const OptimizerState& s : o.states(precision)) t.states.push_back(state_leaf(b, bucket, s));
  t.step_scalars_in = step_scalars_in_leaf(b, c, o, bucket.own_rate);
  return o.update(b, t);
}

}  // namespace

Value state_leaf(Builder& b, const Parameter& p, const OptimizerState& s, bool host) {
  return b.leaf(leaf_beside(p, s.suffix, s.dtype, Role::optimizer, host));
}

Value main_leaf(Builder& b, const Parameter& p, const Precision& precision, bool host) {
  const DType main = precision.main_parameters;
  if (p.type.dtype == main) return {};
  return b.leaf(leaf_beside(p, kMainSuffix, main_type(p.type.dtype, main, host), Role::main_parameter, host));
}

void scale_roots(Builder& b, std::map<Value, Value>& roots, const LossScaling& scaling) {
  b.set_phase(Phase::backward), b.set_module("loss scale");
  const Value scale = b.add1(ReadFrom{loss_scale_state::kScale, 1}, {loss_scale_leaf(b)});
  const Value scaled = b.add1(Scale{1, scaling.unit}, {scale});
  for (auto& [sum, root] : roots) root = einsum(b, ",o->", root, scaled);
}

void add_update(Builder& b, const std::vector<Parameter>& parameters, const GradientSums& sums,
                const OptimizerConfig& config, const Precision& precision, const std::vector<Bucket>& buckets,
                const Traffic& traffic, const StageEnd& stage, const std::optional<LossScaling>& scaling,
                bool counts_nonzeros) {
  b.set_phase(Phase::update);
  b.set_module("gradient norm");
  if (!buckets.empty()) place_members(b, buckets, parameters);
  const std::vector<RankSum> terms = buckets.empty() ? sums_of_each(b, parameters, sums.gradients, precision)
                                                     : sums_of_buckets(b, buckets, sums.gradients, precision);
  std::vector<Value> gradients = stage.begun ? end_reduce(b, terms) : reduce(b, terms, traffic);
  add_up_stages(b, parameters, buckets, gradients);
  Value squares, nonzeros;
  const auto add_to = [&](Value& sum, Value of_rank) {
    const Value term = owned_total(b, stage_term(b, of_rank));
    sum = sum ? b.add1(AddGrad{0}, {sum, term}) : term;
  };
  for (size_t i = 0; i < gradients.size(); ++i) {
    const std::vector<int>& stages = buckets.empty() ? parameters[i].stages : buckets[i].stages;
    if (!stages.empty() && stages.front() != stage.place) continue;  // the first counts it
    const Value g = gradients[i];
    add_to(squares, b.add1(SumSquares{b.type(g).ndim()}, {g}));
    if (counts_nonzeros) add_to(nonzeros, b.add1(CountNonzeros{b.type(g).ndim()}, {g}));
  }
  if (nonzeros) b.graph().outputs[kNonzeros] = reduced(b, nonzeros);
  const Value scalars = decide(b, config.clip_grad, squares, sums, scaling);
  b.set_module("optimizer");
  const std::vector<bool> host = on_host(parameters, config);
  if (buckets.empty())
    for (size_t i = 0; i < parameters.size(); ++i)
      add_optimizer(b, parameters[i], gradients[i], scalars, config, precision, host[i]);
  std::vector<Value> gathers;
  for (const bool late : {false, true})  // gathered first, while the others are updated
    for (size_t i = 0; i < buckets.size(); ++i) {
      if (buckets[i].late != late) continue;
      const Parameter& like = parameters[buckets[i].members[0]];
      const Value weights = add_optimizer(b, buckets[i], like, gradients[i], scalars, config, precision);
      if (late) continue;
      gathers.push_back(b.move_into(weights, buckets[i].reduced, kCopy, weights_leaf(b, buckets[i]),
                                    traffic.overlap_weights ? kWeightLane : 0));
    }
  for (Value v : gathers) b.wait(v);
}

}  // namespace megalith
