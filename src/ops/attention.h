// o = softmax(scale * q k^T + bias) v with grouped queries. It never holds the s x t matrix (Dao 2022; Ainslie 2023 for
// groups).
//   q [s,b,g,r,d]  k [t,b,g,d]  v [t,b,g,e]  rows [b] i64: sample numbers, the key of dropout
//   starts [s,b] i32, lengths [b] i32, table [g,r,k] (optional)
//   -> o [s,b,g,r,e], lse [s,b,g,r] (log of the softmax's denominator, kept for the gradient)
// Head sizes d and e may differ (multi-head latent attention) unless q, k and v are packed. A causal query at global
// position p sees keys `p' <= p`, and `p' > p - window` if `window > 0`. With `starts` it also needs p' >= starts, the
// first position of its document. A query that is not causal sees all keys of its own sequence (BERT) or of another one
// (T5's cross-attention). With `lengths` all keys have p' < lengths of the sequence. If a query sees no key, o is 0 and
// lse is -inf. With `table` the bias of a head is its entry for the bucket of p' - p (ops/relative_positions.h).
// Without causality buckets cover both signs (T5).
#pragma once
#include "graph/builder.h"

namespace megalith {

struct AttentionSpec {
  double scale = 1;
  bool causal = true;  // false: without window, ALiBi or starts
  i64 window = 0;      // 0: no limit
  bool alibi = false;  // bias slope * (p' - p), slopes by head (Press 2022)
  // ALiBi bias is scale * (B(p') - B(p)) instead, with B(p) = bf16(slope) p in bf16 (Falcon)
  bool alibi_scaled = false;
  double dropout = 0;  // of probabilities
  u64 seed = 0;
  bool starts = false, lengths = false;  // which of these inputs exist; they follow rows in this order
  i64 buckets = 0;                       // number of buckets; the table is then the last input; 0: no table
  i64 max_distance = 0;                  // with buckets: all distances from here on share the last bucket
  // Packed: q, k and v are one input [s,b,j,d], and their gradients one result. j counts groups * heads_per_group query
  // heads, then `groups` key heads, then `groups` value heads. 0: three inputs.
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
// The slopes that this attention uses: with alibi_scaled they are rounded to bf16.
std::vector<double> alibi_slopes(const AttentionSpec& at, i64 heads);
// B(p) of a rounded slope. The position and the product are rounded too, so distant neighbours share one value.
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
