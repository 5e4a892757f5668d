// Ops of accumulation and update over many tensors at once, for backends with a high launch cost. Each op replaces one
// node a tensor. The pass multi-tensor adds them. Each tensor has its own shape and layout.
#pragma once
#include "ops/update.h"

namespace megalith {

// acc + x in place, or only x, as in Accumulate. Inputs: acc, x for each -> acc for each.
struct MultiAccumulate {
  static constexpr std::string_view name = "multi_accumulate";
  int tensors = 0;
  bool starts = false;
  void fields(auto&& v) const { v("tensors", tensors), v("starts", starts); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const;
  std::vector<Alias> aliases() const;
};

// x... -> [] f64: the sum of all squares, added tensor by tensor as by several SumSquares.
struct MultiSumSquares {
  static constexpr std::string_view name = "multi_sum_squares";
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const;
};

// Update for many parameters. Inputs: w, g, states, [copy] for each, then scalars, step_scalars_in -> w, states, [copy]
// for each.
struct MultiUpdate {
  static constexpr std::string_view name = "multi_update";
  UpdateRule rule;
  bool copy = false;
  std::vector<bool> decay = {};  // by parameter

  void fields(auto&& v) const {
    list_rule(rule, v);
    v("copy", copy), v("decay", decay_text());
  }
  int parameters() const { return int(decay.size()); }
  int ins_each() const { return 2 + states_of(rule) + copy; }
  int outs_each() const { return 1 + states_of(rule) + copy; }
  Update one(int parameter, int ndim) const { return {rule, ndim, decay[size_t(parameter)], copy}; }
  // The indices of one parameter's inputs.
  std::vector<int> ins_of(int parameter) const;

  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const;
  std::vector<Alias> aliases() const;

 private:
  std::string decay_text() const;  // "1101"
};

}  // namespace megalith
