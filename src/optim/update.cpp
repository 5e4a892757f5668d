#include "optim/update.h"

#include "ops/update.h"
#include "optim/offload.h"

namespace megalith {

std::string main_name(const std::string& parameter) { return parameter + ".main"; }
std::string first_moment_name(const std::string& parameter) { return parameter + ".exp_avg"; }
std::string second_moment_name(const std::string& parameter) { return parameter + ".exp_avg_sq"; }

DType main_type(DType weights, bool host) { return weights == DType::bf16 && !host ? DType::u16 : accum_of(weights); }

Value reduced(Builder& b, Value v) {
  const std::vector<Axis> axes = b.type(v).layout.partial.list();
  return axes.empty() ? v : b.relayout(v, axes, kSame);
}

Value stage_term(Builder& b, Value v) { return b.mesh().n(Axis::pp) > 1 ? b.add1(StageTerm{}, {v}) : v; }

namespace {

// The sum of what the first and the last stage have.
Value sum_of_ends(Builder& b, Value v) {
  const Value term = stage_term(b, v);
  Relayout op{{Axis::pp}, kPartial, kSame, Order::block, Order::block, Transfer::all_reduce};
  op.ends = true;
  return b.add1(op, {term});
}

// The sum over all ranks of each rank's own share: where ranks hold equal values, the one at coordinate 0 counts.
Value owned_total(Builder& b, Value v) {
  std::vector<Axis> same;
  for (Axis a : kAllAxes)
    if (b.type(v).layout.state(a) == kSame) same.push_back(a);
  return same.empty() ? v : b.relayout(v, same, kPartial);
}

// What one optimizer node updates: a parameter, or a rank's part of a pool.
struct Target {
  Value main, weights = {};  // weights: the copy in compute precision, if there is one
  Value first_moment = {}, second_moment = {};
  bool decay, own_rate;
};

// The leaves that the host fills before each step: a parameter follows one of them.
class Hypers {
 public:
  explicit Hypers(Builder& b) : b_(b), common_(leaf("hyper")) {}
  Value of(const Target& t) {
    if (!t.own_rate) return common_;
    if (!decoupled_) decoupled_ = leaf(kDecoupledHyper);
    return decoupled_;
  }

 private:
  Value leaf(const char* name) { return b_.leaf({name, {DType::f64, {hyper::kSize}, whole(1)}, Role::scalar, false}); }
  Builder& b_;
  Value common_, decoupled_;
};

// The node's results.
std::vector<Value> add_optimizer(Builder& b, const Target& t, Value g, Value scalars, Hypers& hypers,
                                 const OptimizerConfig& c) {
  const int ndim = b.type(t.main).ndim();
  const bool adam = c.optimizer == OptimizerKind::adam, copy = bool(t.weights);
  std::vector<Value> ins = {t.main, g, t.first_moment};
  if (adam) ins.push_back(t.second_moment);
  ins.push_back(scalars), ins.push_back(hypers.of(t));
  if (copy) ins.push_back(t.weights);
  if (adam) return b.add(Update{AdamW{c.adam_beta1, c.adam_beta2, c.adam_eps}, ndim, t.decay, copy}, ins);
  return b.add(Update{Sgd{c.sgd_momentum}, ndim, t.decay, copy}, ins);
}

Target target_of(Builder& b, const Parameter& p, const OptimizerConfig& c, bool host) {
  const Type wide{accum_of(p.type.dtype), p.type.shape, p.type.layout};
  const bool copy = p.type.dtype != wide.dtype;
  Target t{.main = p.value, .decay = p.decays(), .own_rate = has_own_rate(p, c)};
  const auto state = [&](std::string (*name)(const std::string&), const Type& type, Role role) {
    LeafSpec leaf = leaf_of(p, name, type, role);
    leaf.host = host;
    return b.leaf(leaf);
  };
  const Type main{main_type(p.type.dtype, host), p.type.shape, p.type.layout};
  if (copy) t.main = state(main_name, main, Role::main_parameter), t.weights = p.value;
  t.first_moment = state(first_moment_name, wide, Role::optimizer);
  if (c.optimizer == OptimizerKind::adam) t.second_moment = state(second_moment_name, wide, Role::optimizer);
  return t;
}

Target target_of(Builder& b, const Pool& pool, const OptimizerConfig& c) {
  Target t{.main = state_leaf(b, pool, main_name), .decay = pool.decay, .own_rate = pool.own_rate};
  if (pool.has_copy()) t.weights = weights_shard_leaf(b, pool);
  t.first_moment = state_leaf(b, pool, first_moment_name);
  if (c.optimizer == OptimizerKind::adam) t.second_moment = state_leaf(b, pool, second_moment_name);
  return t;
}

}  // namespace

void add_update(Builder& b, const std::vector<Parameter>& parameters, const GradientSums& sums,
                const OptimizerConfig& config, const std::vector<Pool>& pools, const Traffic& traffic,
                const StageEnd& stage) {
  b.set_phase(Phase::update);
  b.set_module("gradient norm");
  if (!pools.empty()) place_members(b, pools, parameters);
  const std::vector<RankSum> terms =
      pools.empty() ? sums_of_each(b, parameters, sums.gradients) : sums_of_pools(b, pools, sums.gradients);
  std::vector<Value> gradients = stage.begun ? end_reduce(b, terms, traffic) : reduce(b, terms, traffic);
  Value squares;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const bool tied = pools.empty() ? parameters[i].tied : pools[i].tied;
    if (tied) gradients[i] = sum_of_ends(b, gradients[i]);
    if (tied && stage.last) continue;  // the first counts it
    const Value g = gradients[i];
    const Value s = owned_total(b, stage_term(b, b.add1(SumSquares{b.type(g).ndim()}, {g})));
    squares = squares ? b.add1(AddGrad{0}, {squares, s}) : s;
  }
  Hypers hypers(b);
  const Value scalars =
      b.add1(StepScalars{config.clip_grad},
             {reduced(b, squares), reduced(b, stage_term(b, sums.loss)), reduced(b, stage_term(b, sums.tokens))});
  b.graph().outputs["step"] = scalars;
  b.set_module("optimizer");
  const std::vector<bool> host = on_host(parameters, config);
  if (pools.empty())
    for (size_t i = 0; i < parameters.size(); ++i)
      add_optimizer(b, target_of(b, parameters[i], config, host[i]), gradients[i], scalars, hypers, config);
  std::vector<Value> gathers;
  for (const bool late : {false, true})  // what is gathered here first: beside the updates of the others
    for (size_t i = 0; i < pools.size(); ++i) {
      if (pools[i].late != late) continue;
      const Target t = target_of(b, pools[i], config);
      const std::vector<Value> results = add_optimizer(b, t, gradients[i], scalars, hypers, config);
      if (late) continue;
      gathers.push_back(b.move_into(t.weights ? results.back() : results[0], pools[i].reduced, kCopy,
                                    weights_leaf(b, pools[i]), traffic.overlap_weights ? kWeightLane : 0));
    }
  for (Value v : gathers) b.wait(v);
}

}  // namespace megalith
