// Keys and values of multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): each head's key is its own part, made
// from the latent, and the part that turns, which all heads share.
//   kv [s,b,g,own + value], k_r [s,b,shared] -> k [s,b,g,own + shared], v [s,b,g,value]
// Where ranks split the heads, k_r must be a copy on each: its gradient is a sum over heads, of which a rank has a
// term.
#pragma once
#include "graph/builder.h"

namespace megalith {

struct LatentKeys {
  static constexpr std::string_view name = "latent_keys";
  i64 own = 0, shared = 0, value = 0;
  void fields(auto&& v) const { v("own", own), v("shared", shared), v("value", value); }
  LayoutRule rule() const;
  std::vector<DType> dtypes(Types ins) const { return {ins[0].dtype, ins[0].dtype}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
};

struct LatentKeysGrad {  // dk, dv -> dkv, dk_r
  static constexpr std::string_view name = "latent_keys_grad";
  i64 own = 0, shared = 0, value = 0;
  void fields(auto&& v) const { v("own", own), v("shared", shared), v("value", value); }
  LayoutRule rule() const;
  std::vector<DType> dtypes(Types ins) const { return {ins[0].dtype, ins[0].dtype}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {double(ins[0].elements()), total_bytes(ins, outs)}; }
};

}  // namespace megalith
