// `y = x / max(|x|, eps)`, where `|x|` is the root of the sum of squares over all dims but the first. So each matrix of
// a stack has a separate norm. x [k, ...] may be split only on the first dim.
#pragma once
#include "graph/relayout_op.h"

namespace megalith {

struct Normalize {
  static constexpr std::string_view name = "normalize";
  double eps = 1e-7;
  void fields(auto&& v) const { v("eps", eps); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const {
    return {3 * double(ins[0].elements()), total_bytes(ins, outs) + double(ins[0].bytes())};
  }
};

}  // namespace megalith
