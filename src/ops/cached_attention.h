// Attention of a few new tokens to all tokens so far, whose keys and values are cached. So the cost of generation is
// linear in the length.
//   cache [t,b,g,d], x [s,b,g,d], length [] i32 -> cache with x at rows length .. length+s-1, in place
//   q [s,b,g,r,d], k [t,b,g,d], v [t,b,g,e], length [] i32, table [g,r,k] (with buckets) -> o [s,b,g,r,e]; query i is
//   at position length + i
#pragma once
#include "ops/attention.h"

namespace megalith {

struct CacheWrite {
  static constexpr std::string_view name = "cache_write";
  LayoutRule rule() const { return {.spec = "tbgd,sbgd,->tbgd", .whole = "ts"}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types) const { return {0, 2 * double(ins[1].bytes())}; }
  std::vector<Alias> aliases() const { return {{0, 0, true}}; }
};

struct CachedAttention {
  static constexpr std::string_view name = "cached_attention";
  AttentionSpec at;  // no dropout, no starts
  void fields(auto&& v) const { at.fields(v); }
  LayoutRule rule() const {
    if (at.buckets) return {.spec = "sbgrd,tbgd,tbge,,grk->sbgre", .whole = "stdek"};
    return {.spec = "sbgrd,tbgd,tbge,->sbgre", .whole = "stde"};
  }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const {
    return {2.0 * double(ins[0].elements() + outs[0].elements()) * double(ins[1].dim(0)), total_bytes(ins, outs)};
  }
};

}  // namespace megalith
