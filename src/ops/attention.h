// o = softmax(scale * q k^T + bias) v with grouped queries, never holding the s x t matrix (Dao 2022; Ainslie 2023 for
// groups).
//   q [s,b,g,r,d]  k [t,b,g,d]  v [t,b,g,e]  rows [b] i64: sample numbers, the key of dropout
//   starts [s,b] i32, lengths [b] i32, table [g,r,k] (optional)
//   -> o [s,b,g,r,e], lse [s,b,g,r] (log of the softmax's denominator, kept for the gradient)
// Values may be of another size than queries and keys (multi-head latent attention), if they are not packed. A causal
// query at global position p sees keys p' <= p, p' > p - window (if window > 0). It sees keys p' >= starts, the first
// position of its document. One that is not causal sees all keys: of its own sequence (BERT) or of another (T5's
// decoder sees the encoder's). Either sees only keys p' < lengths of its sequence. Without any key, o is 0, lse -inf.
// With a table a head's bias is its entry of the bucket of p' - p (ops/relative_positions.h). Where it is not causal
// the buckets are of both sides (T5).
#pragma once
#include "graph/builder.h"

namespace megalith {

struct AttentionSpec {
  double scale = 1;
  bool causal = true;         // false: without window, ALiBi or starts
  i64 window = 0;             // 0: no limit
  bool alibi = false;         // bias slope * (p' - p), slopes by head (Press 2022)
  bool alibi_scaled = false;  // scale * (B(p') - B(p)) instead, B(p) = bf16(slope) p in bf16: Falcon's
  double dropout = 0;         // of the probabilities
  u64 seed = 0;
  bool starts = false, lengths = false;  // which of these inputs exist; they follow rows in this order
  i64 buckets = 0;       // of the table of relative positions, which is the last input; 0: there is none
  i64 max_distance = 0;  // with them: from there on all share the last bucket
  // Packed: q, k and v are one input [s,b,j,d] (and their gradients one result): groups * heads_per_group query heads,
  // then `groups` key heads, then as many value heads. 0: three inputs.
  i64 groups = 0, heads_per_group = 0;

  bool packed() const { return groups > 0; }
  // The index of `lengths` among the inputs after q, k and v.
  int lengths_at() const { return starts ? 2 : 1; }
  int table_at() const { return lengths_at() + (lengths ? 1 : 0); }

  void fields(auto&& v) const {
    v("scale", scale);
    if (!causal) v("causal", causal);
    if (window) v("window", window);
    if (alibi) v("alibi", alibi);
    if (alibi_scaled) v("alibi_scaled", alibi_scaled);
    if (dropout) v("dropout", dropout), v("seed", seed);
    if (starts) v("starts", starts);
    if (lengths) v("lengths", lengths);
    if (buckets) v("buckets", buckets), v("max_distance", max_distance);
    if (groups) v("groups", groups), v("heads_per_group", heads_per_group);
  }
};

// ALiBi's slope of each of n heads: powers of 2^(-8/m) for the largest power of two m <= n, then every second power of
// 2^(-4/m).
std::vector<double> alibi_slopes(i64 heads);
// The same as the attention has them: with alibi_scaled rounded to bf16.
std::vector<double> alibi_slopes(const AttentionSpec& at, i64 heads);
// B(p) of one of those: the position and the product are rounded too, so that neighbours far from the start share one.
float rounded_alibi(float slope, i64 position);

struct Attention {
  static constexpr std::string_view name = "attention";
  AttentionSpec at;
  void fields(auto&& v) const { at.fields(v); }
  LayoutRule rule() const;
  std::vector<DType> dtypes(Types ins) const { return {ins[0].dtype, accum_of(ins[0].dtype)}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const;
};

// do, q, k, v, o, lse, rows, [starts], [lengths], [table] -> dq, dk, dv, [dtable]; packed: do, qkv, o, ... -> dqkv
struct AttentionGrad {
  static constexpr std::string_view name = "attention_grad";
  AttentionSpec at;
  DType dtable = DType::f32;
  void fields(auto&& v) const {
    at.fields(v);
    if (at.buckets) v("dtable", name_of(dtable));
  }
  LayoutRule rule() const;
  std::vector<DType> dtypes(Types ins) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const;
};

}  // namespace megalith
