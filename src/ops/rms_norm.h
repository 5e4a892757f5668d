// `y = x * rstd * w` over the last dim h, `rstd = 1 / sqrt(mean(x^2) + eps)` (Zhang, Sennrich 2019). x [..,h], w [h] ->
// y [..,h], rstd [..]. With `gives_amax`, set by a pass, both ops have another last result: the amax of the first one
// (ops/quantize.h).
#pragma once
#include "graph/builder.h"

namespace megalith {

struct RmsNorm {
  static constexpr std::string_view name = "rms_norm";
  std::string x = "sbh";  // letters of x; the last is normalised
  double eps = 1e-5;
  bool gives_amax = false;
  void fields(auto&& v) const {
    v("x", x), v("eps", eps);
    if (gives_amax) v("gives_amax", gives_amax);
  }
  LayoutRule rule() const;
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<DType> dtypes(Types ins) const { return {ins[0].dtype, accum_of(ins[0].dtype)}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {4.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

// dy, x, w, rstd -> dx [..,h], dw [h]. A pass may set these options. With `residual` the last input, of dx's type, is
// added to dx: the gradient of the residual stream past the norm. With `with_output` another result is y again, to the
// bit. With `bias` another is the sum of dx over all but its last letter, in f32 at least: the gradient of a bias that
// was added to x.
struct RmsNormGrad {
  static constexpr std::string_view name = "rms_norm_grad";
  std::string x = "sbh";
  DType dw = DType::f32;
  bool residual = false, with_output = false, bias = false, gives_amax = false;
  void fields(auto&& v) const {
    v("x", x), v("dw", name_of(dw));
    if (residual) v("residual", residual);
    if (with_output) v("with_output", with_output);
    if (bias) v("bias", bias);
    if (gives_amax) v("gives_amax", gives_amax);
  }
  LayoutRule rule() const;
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<DType> dtypes(Types ins) const { return {ins[0].dtype, dw}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {9.0 * double(ins[1].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const;
};
Value rms_norm(Builder& b, const std::string& letters, Value x, Value w, double eps);

}  // namespace megalith
