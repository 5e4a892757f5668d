// The attention op of a block, with or without caches of keys and values.
#include <cmath>

#include "base/rng.h"
#include "models/blocks/parts.h"
#include "ops/attention.h"
#include "ops/cached_attention.h"
#include "ops/rope.h"

namespace megalith {

double attention_scale(const ModelConfig& c) {
  return c.t5.unscaled_attention ? 1 : 1 / std::sqrt(double(c.kv_channels));
}

AttentionSpec attention_spec(const Parts& p, const std::string& name, double scale) {
  const ModelConfig& c = p.config;
  AttentionSpec at;
  at.scale = scale;
  const bool seen_whole = p.cache_length == 0 && c.sliding_window >= p.seq;
  at.window = seen_whole ? 0 : c.sliding_window;
  at.alibi = c.position_embedding_type == PositionEmbedding::alibi;
  at.alibi_scaled = at.alibi && c.scale_alibi;
  at.dropout = p.mode.dropout ? c.attention_dropout : 0;
  at.seed = mix(p.mode.seed, hash_name(p.site + name));
  at.starts = p.document_starts;
  at.causal = p.causal, at.lengths = bool(p.lengths);
  if (p.positions_table)
    at.buckets = c.t5.relative_attention_num_buckets, at.max_distance = c.t5.relative_attention_max_distance;
  return at;
}

Value cached(Parts& p, const std::string& name, Value x) {
  Type type = p.b.type(x);
  type.shape[0] = p.cache_length;
  const Value cache = p.b.leaf({name, type, Role::cache});
  return p.b.add1(CacheWrite{}, {cache, x, p.length});
}

Value core_attention(Parts& p, const std::string& name, double scale, Value q, Value k, Value v) {
  Builder& b = p.b;
  const Attention op{attention_spec(p, name, scale)};
  if (p.cache_length) {
    std::vector<Value> ins = {q, cached(p, name + "keys", k), cached(p, name + "values", v), p.length};
    if (op.at.buckets) ins.push_back(p.positions_table);
    return b.add1(CachedAttention{op.at}, ins);
  }
  constexpr AxisSet cp = groups::context;
  const bool all_to_all = p.style.cp_all_to_all;
  if (all_to_all) q = b.relayout(q, cp, split(2));
  k = b.relayout(k, cp, all_to_all ? split(2) : kCopy);
  v = b.relayout(v, cp, all_to_all ? split(2) : kCopy);
  std::vector<Value> ins = {q, k, v, p.rows};
  if (op.at.starts) {
    const Value starts = p.data("document_starts", DType::i32);
    ins.push_back(all_to_all ? b.relayout(starts, cp, kSame) : starts);
  }
  if (op.at.lengths) ins.push_back(p.lengths);
  if (op.at.buckets) ins.push_back(all_to_all ? b.relayout(p.positions_table, cp, split(0)) : p.positions_table);
  const Value o = b.add1(op, ins);
  return all_to_all ? b.relayout(o, cp, split(0), p.style.cp_order) : o;
}

Value rope(Parts& p, Rope op, Value x) {
  const ModelConfig& c = p.config;
  op.freq.base = c.rotary_base;
  op.freq.position_scale = c.rotary_seq_len_interpolation_factor;
  op.freq.scaling = c.rope_scaling;
  resolve(op.freq.scaling, c.mla.on(), c.max_position_embeddings);
  op.freq.length = p.cache_length ? p.cache_length : p.seq;
  op.positions = p.position_ids;
  if (!op.positions) return p.b.add1(op, {x});
  return p.b.add1(op, {x, p.data("position_ids", DType::i32)});
}

}  // namespace megalith
