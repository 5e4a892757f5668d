// A layer with experts. Ranks of ep x etp gather their tokens and compute each expert's rows on the expert's rank. Then
// they reduce the sums to the tokens' ranks (Megatron's dispatcher "allgather"). If there are more rows than a buffer
// holds, they are computed in parts. docs/layouts.md, section 9.
#include "models/blocks/router.h"
#include "models/blocks/tokens_of_experts.h"
#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/expert_activation.h"
#include "ops/expert_bias.h"
#include "ops/expert_parts.h"
#include "ops/expert_rows.h"
#include "ops/gather_rows.h"
#include "ops/grouped_product.h"
#include "ops/token_gate.h"

namespace megalith {

namespace {

// The experts of a layer.
class Experts {
 public:
  // `h`: width of their input and output.
  Experts(Parts& p, const std::string& name, i64 h) : p_(p), b_(p.b), c_(p.config) {
    const i64 n = c_.moe.num_experts, f = c_.expert_width();
    const double std = c_.init_method_std;
    const bool gated = c_.gated(), biased = c_.mlp_bias();
    w1_ = gated ? p.matrix(name + "linear_fc1.weight", {n, 2, f, h}, by_expert(0, 2), initial_of(c_, std, 2 * f, h))
                : p.matrix(name + "linear_fc1.weight", {n, f, h}, by_expert(0, 1), initial_of(c_, std, f, h));
    if (biased)
      b1_ = p.vector(name + "linear_fc1.bias", gated ? Shape{n, 2, f} : Shape{n, f}, by_expert(0, gated ? 2 : 1));
    w2_ = p.matrix(name + "linear_fc2.weight", {n, h, f}, by_expert(0, 2), initial_of_output(c_, h, f));
    if (!biased) return;
    const Value b2 = p.vector(name + "linear_fc2.bias", {n, h}, by_expert(0));
    // one rank of etp adds the bias, because y is a sum over etp
    b2_ = b_.relayout(b2, groups::expert_tensor, kPartial);
  }

  // x [s,b,h], p and choice [s,b,k] for all tokens of a group -> y [s,b,h], partial over ep and etp.
  Value operator()(Value x, const RouterResult& r) const {
    const i64 n = c_.moe.num_experts, k = c_.moe.router_topk, ep = b_.mesh().n(groups::expert);
    const Shape local = local_type(b_.mesh(), b_.type(x)).shape;
    const ExpertRoom room = expert_room(local[0] * local[1], k, n, ep, p_.style.expert_rows);
    const double filled = double(room.balanced) / double(room.rows * room.parts);
    if (room.parts == 1) return of_plan(expert_rows(b_, r.choice, n), x, r.p, filled);
    const Value cuts = b_.add1(ExpertParts{n, room.rows, room.parts}, {r.choice});
    b_.repeats = true;  // so that no part's rows are kept
    Value y;
    for (i64 part = 0; part < room.parts; ++part) {
      const ExpertPlan plan = expert_rows(b_, r.choice, cuts, {n, room.rows, part});
      const Value of_part = of_plan(plan, x, r.p, filled);
      y = part == 0 ? of_part : add(b_, "sbh,sbh->sbh", y, of_part);
    }
    b_.repeats = false;
    return y;
  }

 private:
  // filled: average filled fraction of the rows.
  Value of_plan(ExpertPlan plan, Value x, Value p, double filled) const {
    plan.filled = filled;
    const bool gated = c_.gated();
    const Value rows = gather_rows(b_, x, plan), weights = gather_weights(b_, p, plan);
    Value u = grouped_product(b_, gated ? "nh,emfh->nmf" : "nh,efh->nf", rows, w1_, plan.ends, filled);
    if (b1_) u = expert_bias(b_, u, b1_, plan.ends);
    const ExpertAct act = gated ? ExpertAct{.gated = true, .gate = gate_of(c_.activation)}
                                : ExpertAct{.gated = false, .act = act_of(c_.activation)};
    const Value a = expert_activation(b_, act, u, weights, plan);
    Value y = grouped_product(b_, "nf,ehf->nh", a, w2_, plan.ends, filled);
    if (b2_) y = expert_bias(b_, y, b2_, plan.ends, weights);
    return combine_rows(b_, y, plan);
  }

  Parts& p_;
  Builder& b_;
  const ModelConfig& c_;
  Value w1_, w2_, b1_, b2_;  // no biases: none
};

// With --moe-latent-size inputs and outputs of experts are narrower than the stream. x [s,b,h] -> [s,b,l], and back.
Value to_latent(Parts& p, const std::string& name, Value x) {
  const ModelConfig& c = p.config;
  const i64 l = c.moe.latent_size, h = c.hidden_size;
  if (l == 0) return x;
  const Value w = p.matrix(name + "fc1_latent_proj.weight", {l, h}, kOnStream, initial_of(c, c.init_method_std, l, h));
  return p.biased(name + "fc1_latent_proj", "sbl,l->sbl", einsum(p.b, "sbh,lh->sbl", x, w), {l}, c.add_bias_linear);
}
Value from_latent(Parts& p, const std::string& name, Value y) {
  const ModelConfig& c = p.config;
  const i64 l = c.moe.latent_size, h = c.hidden_size;
  if (l == 0) return y;
  const Value w = p.matrix(name + "fc2_latent_proj.weight", {h, l}, kOnStream, initial_of_output(c, h, l));
  return p.biased(name + "fc2_latent_proj", "sbh,h->sbh", einsum(p.b, "sbl,hl->sbh", y, w), {h}, c.add_bias_linear);
}

// Weights of 1 for the chosen experts, in p's type.
Value ones_beside(Builder& b, Value choice, Value p) {
  Type type = b.type(choice);
  type.dtype = b.type(p).dtype;
  return b.add1(Ones{type}, {});
}

// The MLP that all tokens pass, with --moe-shared-expert-gate times logistic(x g).
Value shared_expert(Parts& p, const std::string& name, Value x) {
  const ModelConfig& c = p.config;
  const Value y =
      p.to_residual(mlp_block(p, name, p.to_tensor_parallel(x), c.moe.shared_expert_intermediate_size, c.mlp_bias()));
  if (!c.moe.shared_expert_gate) return y;
  const Value g =
      p.matrix(name + "gate_weight", {1, c.hidden_size}, kOnStream, initial_of(c, c.init_method_std, 1, c.hidden_size));
  return p.b.add1(TokenGate{}, {y, p.b.add1(Einsum{"sbh,oh->sbo", accum_of(p.b.type(x).dtype)}, {x, g})});
}

}  // namespace

Value moe_block(Parts& p, const std::string& name, Value x) {
  const ModelConfig& c = p.config;
  const Origin origin = p.b.origin();
  p.b.set_origin({"moe", origin.layer, origin.stack});
  const RouterResult r = route(p, name, x);
  const TokensOfExperts tokens(p.b, x);
  const bool on_input = c.moe.apply_probs_on_input;  // each token has one expert
  RouterResult gathered;
  if (!on_input) gathered.p = tokens.gather(r.p);
  gathered.choice = tokens.gather(r.choice);
  Value latent = to_latent(p, name, x);
  if (on_input)
    latent = p.b.add1(TokenGate{.logistic = false}, {latent, r.p}), gathered.p = ones_beside(p.b, gathered.choice, r.p);
  latent = tokens.gather(latent);
  const Experts experts(p, name + "experts.", p.b.type(latent).dim(-1));
  Value y = from_latent(p, name, tokens.give_back(experts(latent, gathered)));
  if (c.moe.shared_expert_intermediate_size > 0) {
    p.b.set_origin({"shared_experts", origin.layer, origin.stack});
    const Value shared = shared_expert(p, name + "shared_experts.", x);
    p.b.set_origin(origin);
    y = add(p.b, "sbh,sbh->sbh", y, shared);
  }
  p.b.set_origin(origin);
  return y;
}

}  // namespace megalith
