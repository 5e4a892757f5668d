// Drops tokens that exceed an expert's capacity (Lepikhin 2020; rules of Megatron Core).
//   p [s,b,k], choice [s,b,k] -> p [s,b,k], choice [s,b,k] i32
// A rank holds T tokens. An expert keeps ceil(T k / E factor) of them: those with the largest p, or the first ones. Of
// equal ones it keeps the earlier. A dropped token has p 0 and choice -1. The result depends on how tokens are
// distributed over ranks and micro-batches.
#pragma once
#include <cmath>

#include "graph/builder.h"

namespace megalith {

enum class DropBy : u8 { weight, position };
constexpr std::string_view name_of(DropBy d) { return d == DropBy::weight ? "weight" : "position"; }

struct ExpertCapacity {
  static constexpr std::string_view name = "expert_capacity";
  i64 experts = 1;
  double factor = 1;
  DropBy by = DropBy::weight;
  void fields(auto&& v) const { v("experts", experts), v("factor", factor), v("by", name_of(by)); }
  LayoutRule rule() const { return {.spec = "sbk,sbk->sbk,sbk", .whole = "k"}; }
  std::vector<DType> dtypes(Types ins) const { return {ins[0].dtype, DType::i32}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {10.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
  // The number of tokens that an expert keeps of this many.
  i64 capacity(i64 tokens, i64 k) const {
    return std::min(tokens, i64(std::ceil(double(tokens * k) / double(experts) * factor)));
  }
};

struct ExpertCapacityGrad {  // dp, the new choice -> dp of the old p: 0 if dropped
  static constexpr std::string_view name = "expert_capacity_grad";
  LayoutRule rule() const { return {.spec = "sbk,sbk->sbk", .linear = {{0}}, .whole = "k"}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

inline std::vector<Value> ExpertCapacity::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {b.add1(ExpertCapacityGrad{}, {dys[0], n.outs[1]}), {}};
}

}  // namespace megalith
