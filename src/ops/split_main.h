// Main weights as a rank stores them (base/split_float.h): the weights in compute precision, and their low halves.
#pragma once
#include "graph/relayout_op.h"

namespace megalith {

// Splits f32 values, in place. Inputs: x, bf16_half, and with `low_half` low_half -> bf16_half, (low_half). These are
// bf16 and u16. Without `low_half` the first may be f16.
struct SplitMain {
  static constexpr std::string_view name = "split_main";
  int ndim = 0;
  bool low_half = false;
  void fields(auto&& v) const { v("ndim", ndim), v("low_half", low_half); }
  LayoutRule rule() const {
    const std::string a = letters(ndim), r = low_half ? "," + a : "";
    return {.spec = a + "," + a + r + "->" + a + r};
  }
  std::vector<DType> dtypes(Types ins) const {
    std::vector<DType> out = {ins[1].dtype};
    if (low_half) out.push_back(ins[2].dtype);
    return out;
  }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const {
    std::vector<Alias> out = {{0, 1, true}};
    if (low_half) out.push_back({1, 2, true});
    return out;
  }
};

}  // namespace megalith
