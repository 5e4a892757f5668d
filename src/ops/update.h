// Ops of the step's end: gradient accumulation over micro-batches, the gradient norm, and the optimizers. None has a
// gradient.
#pragma once
#include "graph/relayout_op.h"

namespace megalith {

// acc + x, in place; x alone in a step's first micro-batch if `starts`. Both of one type.
struct Accumulate {
  static constexpr std::string_view name = "accumulate";
  int ndim = 0;
  bool starts = false;
  void fields(auto&& v) const { v("ndim", ndim), v("starts", starts); }
  LayoutRule rule() const {
    return {.spec = letters(ndim) + "," + letters(ndim) + "->" + letters(ndim), .linear = {{0, 1}}};
  }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {double(outs[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0, true}}; }
};

// The sum of all squares, in f64. x, and with `marks` those of its rows (EmbeddingGrad), which alone are read -> []
struct SumSquares {
  static constexpr std::string_view name = "sum_squares";
  int ndim = 0;
  bool marks = false;
  void fields(auto&& v) const {
    v("ndim", ndim);
    if (marks) v("marks", marks);
  }
  LayoutRule rule() const { return {.spec = letters(ndim) + (marks ? "," + letters(1) : "") + "->"}; }
  std::vector<DType> dtypes(Types ins) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  // With marks that of all rows: an upper bound.
  Cost cost(Types ins, Types outs) const { return {2.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
};

// What the step decides from three sums over the whole global batch. squares [] f64 of the summed gradients, loss []
// and tokens [] -> [4] f64: the mean loss, the gradient norm (of the mean loss), the factor each gradient is multiplied
// by (clipping included), and 1 if the step counts or 0 if loss or norm are not finite. Means are over one token at
// least: none has loss and norm 0. Clipping as torch.nn.utils.clip_grad_norm_: min(1, clip / (norm + 1e-6)).
struct StepScalars {
  static constexpr std::string_view name = "step_scalars";
  double clip = 0;  // 0: off
  void fields(auto&& v) const { v("clip", clip); }
  LayoutRule rule() const { return {.spec = ",,->n", .sizes = {{'n', 4}}}; }
  std::vector<DType> dtypes(Types) const { return {DType::f64}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {10, total_bytes(ins, outs)}; }
};
namespace step_scalar {
constexpr int kLoss = 0, kGradNorm = 1, kFactor = 2, kCounts = 3, kSize = 4;
}

// One step of AdamW (Loshchilov, Hutter 2019), in place, on one parameter. Inputs: w, g, m, v (accumulation precision),
// scalars [4] (above), hyper [4] f64, and with `copy` the parameter in compute precision -> w, m, v, (copy). Where w is
// u16 it is what the copy, in bf16, lacks of the f32 weights, and both are read (base/split_float.h; as Apex's "store
// param remainders"). With `marks`, the last input, g is read in marked rows alone, and 0 in the others
// (EmbeddingGrad). Nothing changes if the step does not count.
//   w *= 1 - lr * wd;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  w -= lr / c1 * m / (sqrt(v / c2) + eps)
struct AdamW {
  static constexpr std::string_view name = "adamw";
  int ndim = 0;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  bool decay = true;  // weight decay applies to this parameter
  bool copy = false, marks = false;
  void fields(auto&& v) const {
    v("ndim", ndim), v("beta1", beta1), v("beta2", beta2), v("eps", eps), v("decay", decay), v("copy", copy);
    if (marks) v("marks", marks);
  }
  LayoutRule rule() const;
  std::vector<DType> dtypes(Types ins) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {14.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const;
};

// Momentum SGD as torch.optim.SGD: g += wd * w;  m = momentum * m + g;  w -= lr * m. Inputs: w, g, m, scalars, hyper,
// (copy) -> w, m, (copy); w as AdamW has it.
struct Sgd {
  static constexpr std::string_view name = "sgd";
  int ndim = 0;
  double momentum = 0.9;
  bool decay = true, copy = false;
  void fields(auto&& v) const { v("ndim", ndim), v("momentum", momentum), v("decay", decay), v("copy", copy); }
  LayoutRule rule() const;
  std::vector<DType> dtypes(Types ins) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {6.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const;
};

// Layout of `hyper`, which the host fills before each step.
namespace hyper {
constexpr int kLr = 0, kWeightDecay = 1, kCorrection1 = 2, kCorrection2 = 3, kSize = 4;  // corrections: 1 - beta^t
}

}  // namespace megalith
