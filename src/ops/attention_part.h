// Attention of a rank's queries to its own part of the keys, for a ring (Liu 2023; causal, without lengths). The pass
// `ring` adds it after the backward is derived, so neither op has a gradient. Inputs and letters are those of
// Attention. But cp may split both s and t, and t may be rotated. So each rank sees the keys that it holds. The results
// are separate values, not terms of a sum over cp: each part continues from the results of another.
#pragma once
#include "ops/attention.h"

namespace megalith {

// q, k, v, rows, [starts], [o, lse] -> o, lse. The inputs o and lse are the results for the keys seen before, in
// accumulation precision. Then the results are those for all keys together.
struct AttentionPart {
  static constexpr std::string_view name = "attention_part";
  AttentionSpec at;
  int parts = 1;           // number of parts of the keys
  bool continues = false;  // the last two inputs exist
  bool last = false;       // o is in q's precision, not in accumulation precision
  void fields(auto&& v) const {
    at.fields(v), v("parts", parts);
    if (continues) v("continues", true);
    if (last) v("last", true);
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const;
  std::vector<Alias> aliases() const;
};

// do, q, k, v, o, lse, rows, [starts] -> dq, dk, dv in accumulation precision: the contribution of these keys to dq,
// and of these queries to dk and dv. o and lse are for all keys.
struct AttentionPartGrad {
  static constexpr std::string_view name = "attention_part_grad";
  AttentionSpec at;
  int parts = 1;
  void fields(auto&& v) const { at.fields(v), v("parts", parts); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const;
};

}  // namespace megalith
