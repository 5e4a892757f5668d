#include "models/blocks/router.h"

#include <algorithm>

#include "base/rng.h"
#include "models/blocks/router_losses.h"
#include "models/moe_tallies.h"
#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/expert_capacity.h"
#include "ops/expert_counts.h"
#include "ops/route.h"
#include "ops/router_noise.h"
#include "ops/sinkhorn.h"

namespace megalith {

namespace {

// The router of one layer.
class Router {
 public:
  Router(Parts& parts, const std::string& name)
      : p_(parts),
        b_(parts.b),
        c_(parts.config),
        m_(parts.config.moe),
        name_(name + "router"),
        layer_(mixture_layer(parts.config, parts.b.origin())) {}

  RouterResult operator()(Value x) {
    const Value z = logits(x);
    const RouteSpec at = spec();
    std::vector<Value> ins = {z};
    if (at.bias) ins.push_back(bias());
    if (at.by) ins.push_back(b_.add1(Sinkhorn{}, {z}));
    const std::vector<Value> routed = b_.add(Route{at}, ins);
    if (counts_choices(p_)) add_router_losses(p_, name_, z, plain_choice(at, z, routed[1]));
    const RouterResult out = within_capacity({routed[0], routed[1]});
    const Origin& at_layer = b_.origin();
    const std::string layer = fmt::format("{}{}", at_layer.stack.empty() ? "layer" : at_layer.stack, at_layer.layer);
    p_.out.outputs[layer + ".probs"] = out.p, p_.out.outputs[layer + ".choice"] = out.choice;
    if (tallies_tokens(m_, p_.mode)) p_.out.tallies.push_back({tokens_tally(layer_), count_choices(p_, out.choice)});
    return out;
  }

 private:
  bool is_sinkhorn() const { return std::ranges::count(m_.router_load_balancing_type, "sinkhorn") > 0; }
  u64 seed(const char* of) const { return mix(p_.mode.seed, hash_name(name_ + of)); }

  // At least in f32: the choice depends on small differences. Products of bf16 numbers are exact in f32.
  Value logits(Value x) {
    const DType dtype = accum_of(p_.mode.precision.activations);
    const i64 e = m_.num_experts, h = b_.type(x).dim(-1);
    if (m_.input_jitter_eps && p_.mode.train)
      x = b_.add1(Jitter{*m_.input_jitter_eps, seed(".jitter")}, {p_.cast(x, dtype), p_.rows});
    const Value w = p_.matrix(name_ + ".weight", {e, h}, kOnStream, initial_of(c_, c_.init_method_std, e, h));
    Value z = b_.add1(Einsum{"sbh,eh->sbe", dtype}, {x, w});
    if (c_.add_bias_linear) z = add(b_, "sbe,e->sbe", z, p_.cast(p_.vector(name_ + ".bias", {e}), dtype));
    if (!p_.rows) return z;  // new tokens after cached ones have no sample numbers
    if (m_.router_force_load_balancing) return b_.add1(FakeLogits{0, seed(".fake")}, {z, p_.rows});
    if (m_.router_force_biased) return b_.add1(FakeLogits{*m_.router_force_biased, seed(".fake")}, {z, p_.rows});
    return z;
  }

  RouteSpec spec() const {
    RouteSpec at{.score = m_.router_score_function, .pre_softmax = m_.router_pre_softmax, .topk = m_.router_topk};
    if (is_sinkhorn()) {
      at.score = m_.router_topk == 1 ? RouterScore::sigmoid : RouterScore::softmax, at.pre_softmax = true;
      at.by = p_.mode.train;
      return at;
    }
    if (m_.router_group_topk > 0)
      at.groups = m_.router_num_groups, at.group_topk = m_.router_group_topk, at.group_best = m_.group_best();
    at.scaling = m_.router_topk_scaling_factor.value_or(1);
    at.bias = m_.router_enable_expert_bias;
    return at;
  }

  Value bias() {
    Parameter p{.name = name_ + ".expert_bias", .kind = ParameterKind::vector};
    p.type = {DType::f32, {m_.num_experts}, whole(1)};
    p.true_rows = m_.num_experts;
    const Value out = add_untrained(b_, p_.out, std::move(p));
    Untrained& bias = p_.out.untrained.back();
    if (p_.mode.train) bias.follows = tokens_tally(layer_), bias.at_end = BalanceBias{m_.router_bias_update_rate};
    return out;
  }

  // The choice by scores only.
  Value plain_choice(const RouteSpec& at, Value z, Value choice) {
    if (!at.bias && !at.groups && !at.by) return choice;
    return b_.add(Route{{.score = at.score, .topk = at.topk}}, {z})[1];
  }

  RouterResult within_capacity(const RouterResult& r) {
    if (m_.expert_capacity_factor.value_or(-1) < 0) return r;
    const DropBy by = m_.token_drop_policy == TokenDrop::probs ? DropBy::weight : DropBy::position;
    const auto kept = b_.add(ExpertCapacity{m_.num_experts, *m_.expert_capacity_factor, by}, {r.p, r.choice});
    return {kept[0], kept[1]};
  }

  Parts& p_;
  Builder& b_;
  const ModelConfig& c_;
  const MoeConfig& m_;
  const std::string name_;
  const i64 layer_;  // mixture_layer()
};

}  // namespace

RouterResult route(Parts& parts, const std::string& name, Value x) { return Router(parts, name)(x); }

}  // namespace megalith
