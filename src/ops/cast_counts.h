// What a step's casts to codes lose (Quantize::counts), by tensor of a linear layer.
//   collect_counts  seen [n, 3] f64, counts [2] i64... -> seen, in place: row places[i] has of its casts the saturated
//                   values, those that became 0, and all values. In a step's first micro-batch the previous content is
//                   ignored. Ranks that hold the same values count them once: the sum over a stage's ranks is right.
#pragma once
#include "ops/quantize.h"

namespace megalith {

inline constexpr i64 kCastCounts = 3;  // numbers of a tensor

struct CollectCounts {
  static constexpr std::string_view name = "collect_counts";
  std::vector<int> places;
  std::vector<i64> elements;  // that a rank casts
  void fields(auto&& v) const { v("casts", places.size()); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {double(ins.size()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0, true}}; }
};

// Whether the rank counts these: of ranks with the same values the first one does.
bool counts_here(const Mesh& mesh, const Coord& coord, const Type& counts);

}  // namespace megalith
