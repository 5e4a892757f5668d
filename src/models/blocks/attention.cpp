// A layer's self-attention: q, k, v, norms of q and k, rope, attention and the output product.
#include "models/blocks/parts.h"
#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/reshape.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"

namespace megalith {

namespace {

// The attention of one layer. `name`: prefix of its parameters' names.
class AttentionBlock {
 public:
  AttentionBlock(Parts& parts, const std::string& name)
      : p_(parts),
        b_(parts.b),
        c_(parts.config),
        name_(name),
        g_(c_.groups()),
        r_(c_.heads_per_group()),
        d_(c_.kv_channels),
        h_(c_.hidden_size) {}

  Value operator()(Value x) { return attention_output(p_, name_, packs_qkv() ? packed(x) : split_up(x)); }

 private:
  static constexpr Placement kQueries = by_group(0, 1), kKeys = by_group(0);

  // Queries, keys and values are one matrix.
  Initial initial() const { return initial_of(c_, c_.init_method_std, g_ * (r_ + 2) * d_, h_); }

  bool packs_qkv() const {
    const Mesh& m = b_.mesh();
    return p_.style.pack_qkv && !p_.cache_length && !p_.positions_table && !c_.qk_layernorm &&
           m.n({groups::tensor, groups::context}) == 1;
  }

  // x [s,b,h] -> o [s,b,g,r,d], with q, k and v in one tensor [s,b,j,d]
  Value packed(Value x) {
    Value qkv = einsum(b_, "sbh,jdh->sbjd", x, packed_parameter(".weight", {d_, h_}, initial(), ParameterKind::matrix));
    if (c_.qkv_bias()) qkv = add(b_, "sbjd,jd->sbjd", qkv, packed_parameter(".bias", {d_}, {}, ParameterKind::vector));
    qkv = turn("sbjd", qkv, g_ * (r_ + 1));
    Attention op{attention_spec(p_, name_, attention_scale(c_))};
    op.at.groups = g_, op.at.heads_per_group = r_;
    // A relayout over axes of one rank: types become what the rest of the model expects, and no data moves.
    std::vector<Value> ins = {b_.relayout(qkv, groups::context, kSame), p_.rows};
    if (op.at.starts) ins.push_back(b_.relayout(p_.data("document_starts", DType::i32), groups::context, kSame));
    if (op.at.lengths) ins.push_back(p_.lengths);
    Value o = b_.relayout(b_.add1(op, ins), groups::context, split(0), p_.style.cp_order);
    o = b_.relayout(o, groups::kv_heads, split(2));
    return b_.relayout(o, groups::query_heads, split(3));
  }

  // The weights (or biases) of q, k and v as one parameter [j,d,..]: query heads, then key heads, then value heads.
  Value packed_parameter(const std::string& suffix, const Shape& per_head, const Initial& initial, ParameterKind kind) {
    const auto of = [&](const char* which, Shape lead, const Placement& placement) {
      lead.insert(lead.end(), per_head.begin(), per_head.end());
      return p_.declare(name_ + which + suffix, lead, placement, initial, kind);
    };
    Parameter p = of("linear_qkv", {g_ * (r_ + 2)}, kOnOwnPart);
    p.parts = {of("linear_q", {g_, r_}, kQueries), of("linear_k", {g_}, kKeys), of("linear_v", {g_}, kKeys)};
    return p_.add_parameter(std::move(p));
  }

  // x [s,b,h] -> o [s,b,g,r,d]
  Value split_up(Value x) {
    const bool bias = c_.qkv_bias();
    const auto weight = [&](const char* which, const Shape& dims, const Placement& placement) {
      return p_.matrix(name_ + which + ".weight", dims, placement, initial());
    };
    Value q = einsum(b_, "sbh,grdh->sbgrd", x, weight("linear_q", {g_, r_, d_, h_}, kQueries));
    Value k = einsum(b_, "sbh,gdh->sbgd", x, weight("linear_k", {g_, d_, h_}, kKeys));
    Value v = einsum(b_, "sbh,gdh->sbgd", x, weight("linear_v", {g_, d_, h_}, kKeys));
    q = p_.biased(name_ + "linear_q", "sbgrd,grd->sbgrd", q, {g_, r_, d_}, bias, kQueries);
    k = p_.biased(name_ + "linear_k", "sbgd,gd->sbgd", k, {g_, d_}, bias, kKeys);
    v = p_.biased(name_ + "linear_v", "sbgd,gd->sbgd", v, {g_, d_}, bias, kKeys);
    q = turn("sbgrd", qk_norm("q_layernorm", "sbgrd", q));
    k = turn("sbgd", qk_norm("k_layernorm", "sbgd", k));
    return core_attention(p_, name_, attention_scale(c_), q, k, v);
  }

  Value qk_norm(const std::string& name, const std::string& letters, Value x) {
    if (!c_.qk_layernorm) return x;
    return c_.qk_layernorm_across_heads ? norm_across_heads(name, letters, x) : head_norm(name, letters, x);
  }

  Value head_norm(const std::string& name, const std::string& letters, Value x) {
    return rms_norm(b_, letters, x, p_.norm_weight(name_ + name, d_, kOnOwnPart, b_.type(x).dtype), c_.norm_epsilon);
  }

  // Tensor-parallel ranks gather all heads for the norm, and continue with their own.
  Value norm_across_heads(const std::string& name, const std::string& letters, Value x) {
    const std::string heads = letters.substr(2);
    const bool query = heads == "grd";
    std::vector<std::pair<char, i64>> sizes = {{'g', g_}, {'d', d_}};
    if (query) sizes.insert(sizes.begin() + 1, {'r', r_});
    Value y = b_.relayout(b_.relayout(x, groups::query_heads, kSame), groups::kv_heads, kSame);
    y = b_.add1(Reshape{letters + "->sb(" + heads + ")", sizes, {}}, {y});
    const i64 n = b_.type(y).shape.back();
    y = rms_norm(b_, "sbn", y, p_.norm_weight(name_ + name, n, kOnWhole, b_.type(y).dtype), c_.norm_epsilon);
    y = b_.add1(Reshape{"sb(" + heads + ")->" + letters, sizes, {}}, {y});
    y = b_.relayout(y, groups::kv_heads, split(2));
    return b_.relayout(y, groups::query_heads, query ? split(3) : kCopy);
  }

  // heads: of the dim before the last, only the first ones are rotated; 0: all
  Value turn(const std::string& letters, Value x, i64 heads = 0) {
    if (c_.position_embedding_type != PositionEmbedding::rope) return x;
    Rope op;
    op.x = letters, op.heads = heads, op.interleaved = c_.rotary_interleaved;
    const i64 width = i64(double(d_) * c_.rotary_percent);
    op.freq.dims = (width + 1) / 2 * 2;
    if (width % 2 == 1) op.freq.width = width;
    return rope(p_, op, x);
  }

  Parts& p_;
  Builder& b_;
  const ModelConfig& c_;
  const std::string name_;
  const i64 g_, r_, d_, h_;
};

}  // namespace

Value attention_output(Parts& p, const std::string& name, Value o) {
  const ModelConfig& c = p.config;
  const i64 h = c.hidden_size, g = c.groups(), r = c.heads_per_group(), d = c.kv_channels;
  Parameter weight =
      p.declare(name + "linear_proj.weight", {h, g, r, d}, by_group(1, 2), initial_of_output(c, h, g * r * d));
  weight.row_dims = 1;
  return einsum(p.b, "sbgrd,hgrd->sbh", o, p.add_parameter(std::move(weight)));
}

Value attention_block(Parts& parts, const std::string& name, Value x) { return AttentionBlock(parts, name)(x); }

}  // namespace megalith
