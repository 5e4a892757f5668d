// y = sum over the letters missing in y of x * w: every linear layer, product and masked sum. spec "sbh,fh->sbf". With
// `accumulate` a third input of y's type is the accumulator, updated in place: y = acc + x * w. With `starts` it is y =
// x * w in a step's first micro-batch. Passes add two more forms after the backward is derived. With `plus` a third
// input c of y's type is added. With `bias` the last input is added, a vector over y's last letters. Inputs: x, w, [acc
// or c], [bias].
#pragma once
#include "graph/builder.h"

namespace megalith {

struct Einsum {
  static constexpr std::string_view name = "einsum";
  std::string spec;
  DType dtype = DType::f32;  // of y; sums run in f32 at least
  bool accumulate = false, starts = false;
  bool plus = false, bias = false;

  void fields(auto&& v) const {
    v("spec", spec), v("dtype", name_of(dtype));
    if (accumulate) v("accumulate", starts ? "starts" : "adds");
    if (plus) v("plus", plus);
    if (bias) v("bias", bias);
  }
  LayoutRule rule() const;                    // for x and w
  LayoutRule bias_rule(int bias_ndim) const;  // for x w and the bias
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const;  // 2 flops a multiply-add
  std::vector<Alias> aliases() const;
};
Value einsum(Builder& b, const std::string& spec, Value x, Value w);

}  // namespace megalith
