// Biases of experts' rows (ops/ragged.h): each row gets the bias of its expert.
#pragma once
#include "graph/builder.h"
#include "ops/ragged.h"

namespace megalith {

// Inputs: rows [n,...], bias [e,...], ends [d,e], [weights [n]]. Result: rows + bias of the expert, times the row's
// weight if `weighted`.
struct ExpertBias {
  static constexpr std::string_view name = "expert_bias";
  bool weighted = false;
  void fields(auto&& v) const {
    if (weighted) v("weighted", weighted);
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {double(outs[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

// dy [n,...], ends, [weights] -> db [e,...]: the sum of each expert's rows, in f32 at least.
struct SumExpertRows {
  static constexpr std::string_view name = "sum_expert_rows";
  DType dtype = DType::f32;  // type of db
  bool weighted = false;
  void fields(auto&& v) const {
    v("dtype", name_of(dtype));
    if (weighted) v("weighted", weighted);
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {double(ins[0].elements()), total_bytes(ins, outs)}; }
};

// dy [n,...], bias [e,...], ends -> [n] in f32 at least: the gradient of the rows' weights.
struct DotExpertBias {
  static constexpr std::string_view name = "dot_expert_bias";
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {2.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
};

Value expert_bias(Builder& b, Value rows, Value bias, Value ends, Value weights = {});

}  // namespace megalith
