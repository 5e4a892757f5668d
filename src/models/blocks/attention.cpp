#include <cmath>

#include "base/rng.h"
#include "models/blocks/parts.h"
#include "ops/add.h"
#include "ops/attention.h"
#include "ops/cached_attention.h"
#include "ops/einsum.h"
#include "ops/reshape.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"

namespace megalith {

namespace {

// Of one layer. `name`: before its parameters' names.
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

  Value operator()(Value x) {
    const Value o = packs_qkv() ? packed(x) : split_up(x);
    Parameter projection = p_.declare(name_ + "linear_proj.weight", {h_, g_, r_, d_}, by_group(1, 2),
                                      initial_of_output(c_, h_, g_ * r_ * d_));
    projection.row_dims = 1;
    return einsum(b_, "sbgrd,hgrd->sbh", o, p_.add_parameter(std::move(projection)));
  }

 private:
  static constexpr Placement kQueries = by_group(0, 1), kKeys = by_group(0);

  // Queries, keys and values are one matrix.
  Initial initial() const { return initial_of(c_, c_.init_method_std, g_ * (r_ + 2) * d_, h_); }

  bool packs_qkv() const {
    const Mesh& m = b_.mesh();
    return p_.style.pack_qkv && !p_.cache_length && !c_.qk_layernorm && m.n({groups::tensor, groups::context}) == 1;
  }

  // x [s,b,h] -> o [s,b,g,r,d], with q, k and v in one tensor [s,b,j,d]
  Value packed(Value x) {
    Value qkv = einsum(b_, "sbh,jdh->sbjd", x, packed_parameter(".weight", {d_, h_}, initial(), ParameterKind::matrix));
    if (c_.qkv_bias()) qkv = add(b_, "sbjd,jd->sbjd", qkv, packed_parameter(".bias", {d_}, {}, ParameterKind::vector));
    qkv = rope("sbjd", qkv, g_ * (r_ + 1));
    Attention op{spec()};
    op.at.groups = g_, op.at.heads_per_group = r_;
    // Over axes of one rank: the types say what the rest of the model expects, and no data moves.
    std::vector<Value> ins = {b_.relayout(qkv, groups::context, kSame), p_.rows};
    if (op.at.starts) ins.push_back(b_.relayout(p_.data("document_starts", DType::i32), groups::context, kSame));
    Value o = b_.relayout(b_.add1(op, ins), groups::context, split(0), p_.style.cp_order);
    o = b_.relayout(o, groups::kv_heads, split(2));
    return b_.relayout(o, groups::query_heads, split(3));
  }

  // q, k and v's weights (or biases) as one, [j,d,..]: query heads, then key heads, then value heads.
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
    q = rope("sbgrd", qk_norm("q_layernorm", "sbgrd", q));
    k = rope("sbgd", qk_norm("k_layernorm", "sbgd", k));
    return attend(q, k, v);
  }

  Value qk_norm(const std::string& name, const std::string& letters, Value x) {
    if (!c_.qk_layernorm) return x;
    return c_.qk_layernorm_across_heads ? norm_across_heads(name, letters, x) : head_norm(name, letters, x);
  }

  Value head_norm(const std::string& name, const std::string& letters, Value x) {
    return rms_norm(b_, letters, x, p_.norm_weight(name_ + name, d_, kOnOwnPart, b_.type(x).dtype), c_.norm_epsilon);
  }

  // Over tensor-parallel ranks the heads are gathered for it, and each rank goes on with its own.
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

  // heads: of the dim before the last, only the first ones turn; 0: all
  Value rope(const std::string& letters, Value x, i64 heads = 0) {
    if (c_.position_embedding_type != PositionEmbedding::rope) return x;
    Rope op;
    op.x = letters, op.heads = heads, op.interleaved = c_.rotary_interleaved;
    op.freq.base = c_.rotary_base;
    const i64 width = i64(double(d_) * c_.rotary_percent);
    op.freq.dims = (width + 1) / 2 * 2;
    if (width % 2 == 1) op.freq.width = width;
    op.freq.position_scale = c_.rotary_seq_len_interpolation_factor;
    if (c_.use_rope_scaling) {
      op.freq.factor = c_.rope_scaling_factor;
      op.freq.low_freq_factor = c_.rope_low_freq_factor, op.freq.high_freq_factor = c_.rope_high_freq_factor;
      op.freq.original_max_position = double(c_.rope_original_max_position_embeddings);
    }
    op.positions = p_.position_ids;
    if (!op.positions) return b_.add1(op, {x});
    return b_.add1(op, {x, p_.data("position_ids", DType::i32)});
  }

  AttentionSpec spec() const {
    AttentionSpec at;
    at.scale = 1 / std::sqrt(double(d_));
    const bool seen_whole = p_.cache_length == 0 && c_.sliding_window >= p_.seq;
    at.window = seen_whole ? 0 : c_.sliding_window;
    at.alibi = c_.position_embedding_type == PositionEmbedding::alibi;
    at.alibi_scaled = at.alibi && c_.scale_alibi;
    at.dropout = p_.mode.dropout ? c_.attention_dropout : 0;
    at.seed = mix(p_.mode.seed, hash_name(p_.site + name_));
    at.starts = p_.document_starts;
    return at;
  }

  // Over cp: keys and values gathered, or (all-to-all) the sequence whole and the groups split once more.
  Value attend(Value q, Value k, Value v) {
    if (p_.cache_length)
      return b_.add1(CachedAttention{spec()}, {q, cached("keys", k), cached("values", v), p_.length});
    constexpr AxisSet cp = groups::context;
    const bool all_to_all = p_.style.cp_all_to_all;
    if (all_to_all) q = b_.relayout(q, cp, split(2));
    k = b_.relayout(k, cp, all_to_all ? split(2) : kCopy);
    v = b_.relayout(v, cp, all_to_all ? split(2) : kCopy);
    const Attention op{spec()};
    std::vector<Value> ins = {q, k, v, p_.rows};
    if (op.at.starts) {
      const Value starts = p_.data("document_starts", DType::i32);
      ins.push_back(all_to_all ? b_.relayout(starts, cp, kSame) : starts);
    }
    const Value o = b_.add1(op, ins);
    return all_to_all ? b_.relayout(o, cp, split(0), p_.style.cp_order) : o;
  }

  Value cached(const std::string& name, Value x) {  // [s,b,g,d] -> the whole cache [t,b,g,d]
    Type type = b_.type(x);
    type.shape[0] = p_.cache_length;
    const Value cache = b_.leaf({name_ + name, type, Role::cache});
    return b_.add1(CacheWrite{}, {cache, x, p_.length});
  }

  Parts& p_;
  Builder& b_;
  const ModelConfig& c_;
  const std::string name_;
  const i64 g_, r_, d_, h_;
};

}  // namespace

Value attention_block(Parts& parts, const std::string& name, Value x) { return AttentionBlock(parts, name)(x); }

}  // namespace megalith
