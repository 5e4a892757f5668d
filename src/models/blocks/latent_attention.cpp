// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434).
//   c_q = norm(x W_dq), q = c_q W_uq (or q = x W_q); [c | k_r] = x W_dkv, [own keys | v] = norm(c) W_ukv
//   a head's q and k: the own part, then the rotated part; k_r, which is rotated, is the key of all heads
// Down projections read the residual stream in its own layout, without tensor parallelism. Ranks gather the latents,
// and make their own heads from them. The twin of that relayout sums the gradients of c, c_q and k_r over the heads of
// all ranks.
#include <cmath>

#include "models/blocks/parts.h"
#include "ops/cached_attention.h"
#include "ops/cut.h"
#include "ops/einsum.h"
#include "ops/latent_keys.h"
#include "ops/reshape.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"

namespace megalith {

namespace {

class LatentAttention {
 public:
  LatentAttention(Parts& parts, const std::string& name)
      : p_(parts),
        b_(parts.b),
        c_(parts.config),
        m_(parts.config.mla),
        name_(name),
        g_(c_.num_attention_heads),
        h_(c_.hidden_size) {}

  // x [s,b,h] of the stream
  Value operator()(Value x) {
    const Value q_latent = m_.q_lora_rank ? latent("q", m_.q_lora_rank, x) : x;
    const auto [own, shared] = key_latents(x);
    const Origin origin = b_.origin();
    Origin up = origin;
    up.up_projection = true;
    b_.set_origin(up);
    const Value q = queries(p_.to_tensor_parallel(q_latent));
    const Value c = p_.to_tensor_parallel(own), k_r = turn("sbd", p_.to_tensor_parallel(shared), 0);
    const i64 rows = m_.qk_head_dim + m_.v_head_dim, rank = m_.kv_lora_rank;
    const Value w = matrix("linear_kv_up_proj", {g_, rows, rank}, by_group(0), g_ * rows, rank);
    const Value o = p_.cache_length ? absorbed(q, c, k_r, w) : expanded(q, c, k_r, w);
    b_.set_origin(origin);
    Parameter projection = p_.declare(name_ + "linear_proj.weight", {h_, g_, 1, m_.v_head_dim}, by_group(1, 2),
                                      initial_of_output(c_, h_, g_ * m_.v_head_dim));
    projection.row_dims = 1;
    return einsum(b_, "sbgrd,hgrd->sbh", o, p_.add_parameter(std::move(projection)));
  }

 private:
  // Keys and values of each head, from the latent.
  Value expanded(Value q, Value c, Value k_r, Value w) {
    const LatentKeys spread{m_.qk_head_dim, m_.qk_pos_emb_head_dim, m_.v_head_dim};
    const std::vector<Value> keys = b_.add(spread, {einsum(b_, "sbc,gjc->sbgj", c, w), k_r});
    Origin core = b_.origin();
    core.up_projection = false;
    b_.set_origin(core);
    return core_attention(p_, name_, scale(), q, keys[0], keys[1]);
  }

  // The same for a few tokens, without keys and values. A head has w = [U_k | U_v]: a query times U_k meets latents,
  // and the mean of latents times U_v is the mean of values. All heads read one cache, of latents and rotated keys.
  Value absorbed(Value q, Value c, Value k_r, Value w) {
    const i64 own = m_.qk_head_dim, shared = m_.qk_pos_emb_head_dim, rank = m_.kv_lora_rank, both = rank + shared;
    const std::vector<Value> up = b_.add(Cut{"gjc", 'j', own, m_.v_head_dim}, {w});
    const std::vector<Value> parts = b_.add(Cut{"sbgrd", 'd', own, shared}, {q});
    Value query = einsum(b_, "sbgrn,gnc->sbgrc", parts[0], up[0]);
    query = regrouped(b_.add1(Join{"sbgrd", 'd', rank, shared}, {query, parts[1]}), 1);
    Value latents = b_.add1(Join{"sbd", 'd', rank, shared}, {c, k_r});
    latents = cached(p_, name_ + "latents", b_.add1(Reshape{"sb(gd)->sbgd", {{'g', 1}, {'d', both}}, {}}, {latents}));
    const Value o = b_.add1(CachedAttention{attention_spec(p_, name_, scale())}, {query, latents, latents, p_.length});
    const Value mean = b_.add(Cut{"sbgrd", 'd', rank, shared}, {o})[0];
    // Each head is a separate group, so this axis has one rank: no data moves.
    const Value heads = b_.relayout(regrouped(mean, g_), groups::query_heads, split(3));
    return einsum(b_, "sbgrc,gvc->sbgrv", heads, up[1]);
  }

  // [s,b,g,r,d], with all heads in this many groups.
  Value regrouped(Value x, i64 groups) {
    const Shape shape = b_.type(x).shape;
    const Value heads = b_.add1(Reshape{"sbgrd->sb(gr)d", {{'g', shape[2]}, {'r', shape[3]}}, {}}, {x});
    return b_.add1(Reshape{"sb(gr)d->sbgrd", {{'g', groups}, {'r', g_ / groups}}, {}}, {heads});
  }

  double scale() const { return c_.rope_scaling.score_factor() / std::sqrt(double(m_.head())); }

  Value matrix(const std::string& name, const Shape& dims, const Placement& placement, i64 rows, i64 columns) {
    return p_.matrix(name_ + name + ".weight", dims, placement, initial_of(c_, c_.init_method_std, rows, columns));
  }

  Value norm(const std::string& which, Value x) {
    if (!c_.qk_layernorm) return x;
    const Type& type = b_.type(x);
    const Value w = p_.norm_weight(name_ + which + "_layernorm", type.dim(-1), kOnStream, type.dtype);
    return rms_norm(b_, "sbc", x, w, m_.norm_epsilon > 0 ? m_.norm_epsilon : c_.norm_epsilon);
  }

  Value down(const std::string& which, i64 width, Value x) {
    return einsum(b_, "sbh,ch->sbc", x, matrix("linear_" + which + "_down_proj", {width, h_}, kOnStream, width, h_));
  }
  Value latent(const std::string& which, i64 width, Value x) { return norm(which, down(which, width, x)); }

  // The latent of keys and values, and the rotated key.
  std::pair<Value, Value> key_latents(Value x) {
    const i64 rank = m_.kv_lora_rank, shared = m_.qk_pos_emb_head_dim;
    const std::vector<Value> parts = b_.add(Cut{"sbc", 'c', rank, shared}, {down("kv", rank + shared, x)});
    return {norm("kv", parts[0]), parts[1]};
  }

  Value queries(Value x) {  // [s,b,c] -> [s,b,g,1,d]
    const i64 d = m_.head(), width = b_.type(x).dim(-1);
    const char* name = m_.q_lora_rank ? "linear_q_up_proj" : "linear_q_proj";
    const Value q = einsum(b_, "sbc,grdc->sbgrd", x, matrix(name, {g_, 1, d, width}, by_group(0, 1), g_ * d, width));
    return turn("sbgrd", q, m_.qk_head_dim);
  }

  // The weights expect that neighbours are rotated as pairs. q and k agree in this order, so it needs no change.
  Value turn(const std::string& letters, Value x, i64 first) {
    Rope op;
    op.x = letters, op.freq.dims = m_.qk_pos_emb_head_dim, op.first = first, op.interleaved = true;
    return rope(p_, op, x);
  }

  Parts& p_;
  Builder& b_;
  const ModelConfig& c_;
  const MlaConfig& m_;
  const std::string name_;
  const i64 g_, h_;
};

}  // namespace

Value latent_attention_block(Parts& parts, const std::string& name, Value x) { return LatentAttention(parts, name)(x); }

}  // namespace megalith
