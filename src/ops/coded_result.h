// The first result of an op as codes only (ops/quantize.h), or several casts of one value. A pass makes it
// (passes/fuse_casts.cpp), so that a kernel need not write values and read them again:
//   y, more = op(x..); codes, scale_inv = quantize(y, state)   ->   more, codes, scale_inv = coded_result(x.., state)
//   a, a_inv = quantize(x); b, b_inv = quantize(x)             ->   a, a_inv, b, b_inv = coded_result(x)
// Inputs: those of the op, or the value; then the inputs of each cast but its first. Results: those of the op but the
// first; then those of each cast. All have the bits of the separate ops.
#pragma once
#include <optional>

#include "ops/quantize.h"

namespace megalith {

struct CodedResult {
  static constexpr std::string_view name = "coded_result";
  std::optional<AnyOp> op;  // {}: the first input is cast
  Type values;              // that are cast
  std::vector<Quantize> casts;

  void fields(auto&& v) const {
    if (op) v("op", op->print());
    for (const Quantize& cast : casts) v("cast", AnyOp(cast).print());
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const;

  // A separate op. Its inputs and results are this op's at these places, or the values between the ops.
  static constexpr int kValues = -1;
  struct Part {
    AnyOp op;
    std::vector<int> ins, outs;
  };
  // The op, if there is one, then the casts. ins, outs: how many this op has.
  std::vector<Part> parts(size_t ins, size_t outs) const;
};

// The elements of `all` at these places; `values` at kValues.
template <class T>
std::vector<T> of_part(const std::vector<int>& places, std::span<const T> all, const T& values) {
  std::vector<T> out;
  for (const int at : places) out.push_back(at == CodedResult::kValues ? values : all[size_t(at)]);
  return out;
}

}  // namespace megalith
