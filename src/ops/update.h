// Ops at the end of a step: gradient accumulation over micro-batches, the gradient norm, and the optimizers. None has a
// gradient.
#pragma once
#include <optional>

#include "graph/relayout_op.h"
#include "ops/loss_scaling.h"
#include "ops/update_rules.h"

namespace megalith {

// acc + x, in place; only x in a step's first micro-batch if `starts`. Both have one type: a float, or i32 without
// `starts`.
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

// The sum of all squares, in f64 -> []. With `marks` only marked rows of x are read (EmbeddingGrad). With `rest` the
// inputs are bf16 weights and their low halves (base/split_float.h).
struct SumSquares {
  static constexpr std::string_view name = "sum_squares";
  int ndim = 0;
  bool marks = false, rest = false;
  void fields(auto&& v) const {
    v("ndim", ndim);
    if (marks) v("marks", marks);
    if (rest) v("rest", rest);
  }
  LayoutRule rule() const {
    return {.spec = letters(ndim) + (marks ? "," + letters(1) : rest ? "," + letters(ndim) : "") + "->"};
  }
  std::vector<DType> dtypes(Types ins) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  // With marks the cost of all rows: an upper bound.
  Cost cost(Types ins, Types outs) const { return {2.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
};

// The number of elements that are not 0, in f64. x -> []
struct CountNonzeros {
  static constexpr std::string_view name = "count_nonzeros";
  int ndim = 0;
  void fields(auto&& v) const { v("ndim", ndim); }
  LayoutRule rule() const { return {.spec = letters(ndim) + "->"}; }
  std::vector<DType> dtypes(Types) const { return {DType::f64}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {double(ins[0].elements()), total_bytes(ins, outs)}; }
};

// The decisions of a step, from three sums over the whole global batch. Inputs: squares [] f64 of the summed gradients,
// loss [] and tokens [] -> [4] f64: the mean loss; the gradient norm (of the mean loss); the factor of each gradient,
// with clipping; 1 if the step counts, 0 if loss or norm is not finite. Means divide by at least one token, so without
// tokens loss and norm are 0. Clipping is that of torch.nn.utils.clip_grad_norm_: min(1, clip / (norm + 1e-6)). With
// `scaling` the gradients are those of a scaled loss. The last input is then the loss scale's state [3] f64. A second
// result, in place, is that state for the next step. Norm and factor are without the scale.
struct StepScalars {
  static constexpr std::string_view name = "step_scalars";
  double clip = 0;  // 0: off
  std::optional<LossScaling> scaling = {};
  void fields(auto&& v) const {
    v("clip", clip);
    if (!scaling) return;
    const quant::LossScaleRule& r = scaling->rule;
    v("unit", scaling->unit), v("scale", r.initial), v("constant", scaling->constant);
    v("least", r.least), v("window", r.window), v("hysteresis", r.hysteresis);
  }
  LayoutRule rule() const { return {.spec = scaling ? ",,,s->n,s" : ",,->n", .sizes = {{'n', 4}}}; }
  std::vector<DType> dtypes(Types) const { return std::vector(scaling ? 2 : 1, DType::f64); }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {10, total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return scaling ? std::vector<Alias>{{1, 3, true}} : std::vector<Alias>{}; }
};
namespace step_scalar {
constexpr int kLoss = 0, kGradNorm = 1, kFactor = 2, kCounts = 3, kSize = 4;
}

// One step of an optimizer's rule (ops/update_rules.h) on one parameter, in place. Inputs: w, g, the rule's states,
// scalars [4] (above), step_scalars_in f64 (below). With `copy` also the parameter in compute precision. Results: w,
// states, (copy). Either all but the copy is f64; or w is f32, and g and each state f32 or bf16. Then arithmetic is
// f32, and new states are rounded to nearest even. If w is u16, it holds the low 16 bits of the f32 weight; the high 16
// bits are in the bf16 weight. The op reads both (base/split_float.h; as Apex's "store param remainders"). With
// `marks`, the last input, g is read only in marked rows, and is 0 in the others (EmbeddingGrad). Nothing changes if
// the step does not count.
struct Update {
  static constexpr std::string_view name = "update";
  UpdateRule rule;
  int ndim = 0;
  bool decay = true;  // weight decay applies to this parameter
  bool copy = false, marks = false;
  void fields(auto&& v) const {
    list_rule(rule, v);
    v("ndim", ndim), v("decay", decay), v("copy", copy);
    if (marks) v("marks", marks);
  }
  // The index of the first input after w and g.
  int states() const { return states_of(rule); }
  int scalars_at() const { return 2 + states(); }
  int step_scalars_in_at() const { return 3 + states(); }
  int copy_at() const { return 4 + states(); }
  int marks_at() const { return copy_at() + copy; }

  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const {
    return {flops_of(rule) * double(ins[0].elements()), total_bytes(ins, outs)};
  }
  std::vector<Alias> aliases() const;
};

// Layout of `step_scalars_in`, which the host fills before each step. The optimizer's own scalars follow
// (optim/optimizer.h).
namespace step_scalars_in {
constexpr int kLr = 0, kWeightDecay = 1, kOwn = 2;
}

}  // namespace megalith
