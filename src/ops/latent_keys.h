// Keys and values of multi-head latent attention (DeepSeek-V2, arXiv 2405.04434). A head's key has two parts. One is
// its own, and is made from the latent. The other is rotated, and all heads share it.
//   kv [s,b,g,own + value], k_r [s,b,shared] -> k [s,b,g,own + shared], v [s,b,g,value]
// If ranks split the heads, k_r must be Copy: its gradient is a sum over heads, and each rank has a term of it.
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
