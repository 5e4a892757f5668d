// Moves tokens to rows of experts, and back. Each op is the gradient of the other. The last three inputs of all of them
// are the plan (ops/expert_rows.h): ends, source, slots.
#pragma once
#include "graph/builder.h"
#include "ops/ragged.h"

namespace megalith {

// x [s,b,h], plan -> rows [n,h]: row r is token source[r]. x is Copy over ep and etp; over etp the rows are Copy. The
// backward computes the rows again from x and keeps only x (`repeats`).
struct GatherRows {
  static constexpr std::string_view name = "gather_rows";
  static constexpr bool repeats = true;
  double filled = 1;  // average filled fraction of n, for the cost
  void fields(auto&& v) const {
    if (filled != 1) v("filled", filled);
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types, Types outs) const { return {0, 2 * filled * double(outs[0].bytes())}; }
};

// rows [n,h], plan -> y [s,b,h]: the sum of a token's rows, in the order of its slots. The sum is in f32 at least and
// rounded once; 0 without rows. Partial over ep, and over etp if the rows are. With `adds`, set by a pass, a last input
// of y's type is added. A token without rows gets only that.
struct CombineRows {
  static constexpr std::string_view name = "combine_rows";
  bool adds = false;
  double filled = 1;
  void fields(auto&& v) const {
    if (adds) v("adds", adds);
    if (filled != 1) v("filled", filled);
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const {
    return {filled * double(ins[0].elements()), filled * double(ins[0].bytes()) + total_bytes({}, outs)};
  }
  std::vector<Alias> aliases() const {
    if (adds) return {{0, 4}};
    return {};
  }
};

// p [s,b,k], plan -> [n]: the weight of each row.
struct GatherWeights {
  static constexpr std::string_view name = "gather_weights";
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
};

// dw [n], plan -> dp [s,b,k]: 0 for slots of other ranks' experts, so it is Partial over ep.
struct GatherWeightsGrad {
  static constexpr std::string_view name = "gather_weights_grad";
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
};

Value gather_rows(Builder& b, Value x, const ExpertPlan& plan);
Value combine_rows(Builder& b, Value rows, const ExpertPlan& plan);
Value gather_weights(Builder& b, Value p, const ExpertPlan& plan);

}  // namespace megalith
