// The end of a step as graph: gradients reduced over the ranks, their norm by ownership, clipping, the optimizer.
// docs/layouts.md, section 6.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "graph/builder.h"
#include "models/parameter.h"
#include "ops/loss_scaling.h"
#include "optim/buckets.h"
#include "optim/config.h"
#include "optim/reduce.h"

namespace megalith {

// The leaf of a parameter's (or bucket's) main weights: in f32, or the remaining bits of bf16 weights (main_type).
// The optimizer's states have similar names: PARAMETER.SUFFIX.
std::string main_name(const std::string& parameter);
inline constexpr const char* kMainSuffix = "main";

// The form of main weights. If the model's weight is the nearest bf16 of the main weight: the missing low bits, as u16,
// which are read together with the weight (base/split_float.h). In host memory: the full value, as the weight stays on
// the device.
DType main_type(DType weights, DType main, bool host);

// That leaf; {}: the weights themselves are the main ones.
Value main_leaf(Builder& b, const Parameter& parameter, const Precision& precision, bool host);
Value state_leaf(Builder& b, const Parameter& parameter, const OptimizerState& state, bool host);

// The leaf that the host fills for an optimizer before each step: `step_scalars_in` of the chosen one. `own_rate`: with
// the learning rate of --decoupled-lr, for the parameters that follow that.
std::string step_scalars_in_name(const OptimizerConfig& config, const Optimizer& optimizer, bool own_rate);

struct GradientSums {
  std::vector<Value> gradients;  // accumulators, one a parameter, not yet reduced
  Value loss, tokens;
};

inline constexpr const char* kLossScale = "loss_scale";  // the state's leaf, and the output of the step's end
// Multiplies the initial cotangent of each loss term by the loss scale.
void scale_roots(Builder& b, std::map<Value, Value>& roots, const LossScaling& scaling);

// Of a pipeline's stage.
struct StageEnd {
  int place = 0;       // among them: what several share is counted by the first of these
  bool begun = false;  // the sums over ranks, by the pieces' programs (begin_reduce)
};

// All-reduces v over each axis where it is Partial; v itself if there is none.
Value reduced(Builder& b, Value v);
// With pipeline stages: each stage's own value, as a term of one sum.
Value stage_term(Builder& b, Value v);
// The sum over all ranks of each rank's own share: where ranks hold equal values, the one at coordinate 0 counts.
Value owned_total(Builder& b, Value v);

// Appends the update phase. Before each step the host fills its input leaves (step_scalars_in_name) f64 (ops/update.h).
// Its output `step` [4] f64 has the loss, the gradient norm, the factor, and whether the step counted. `buckets`: of
// the distributed optimizer; without them every rank updates all that it holds. `scaling`: the loss is scaled; the
// output kLossScale is the scale's state after the step. `counts_nonzeros`: the output kNonzeros [] f64 counts the
// elements of all gradients that are not 0. (Padding is 0.)
inline constexpr const char* kNonzeros = "nonzeros";
void add_update(Builder& b, const std::vector<Parameter>& parameters, const GradientSums& sums,
                const OptimizerConfig& config, const Precision& precision = {}, const std::vector<Bucket>& buckets = {},
                const Traffic& traffic = {}, const StageEnd& stage = {}, const std::optional<LossScaling>& scaling = {},
                bool counts_nonzeros = false);

}  // namespace megalith
