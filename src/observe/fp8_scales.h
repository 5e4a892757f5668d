// A host copy of delayed scaling's state. It starts as a copy of the device's state, and then follows the same rule
// with each step's amax. So only amax values are read back.
#pragma once
#include <span>
#include <vector>

#include "passes/quantize.h"
#include "quant/delayed.h"
#include "step/step.h"

namespace megalith {

class Interpreter;
struct NamedValue;

// Statistics of a step's casts of one kind of tensor, in one layer or in all.
struct Fp8Kind {
  const char* kind;    // "x" (activation), "w" (weight) or "dy" (gradient)
  i64 layer = -1;      // -1: all layers
  double fullest = 0;  // maximum over tensors of largest |value| / largest number that the scale can represent
};

// Statistics of a step's casts, with the scales that they used.
struct Fp8Health {
  // For the tensor with the largest `fullest`: the amax that determines its next scale, and the largest number that
  // the scale can represent. 0: no tensor has had a scale yet.
  double amax = 0, threshold = 0;
  double scale_min = 0, scale_max = 0;
  std::vector<Fp8Kind> kinds{};  // x, w and dy of all layers, then of each layer with scales
};

class Fp8Scales {
 public:
  // Reads the state from the device. Error if the step has no such state.
  Fp8Scales(const PlannedStep& step, Interpreter& interpreter, const QuantizeConfig& config);

  // amax: from a step that was not skipped (StepResult).
  Fp8Health take(std::span<const double> amax);

  std::vector<float> state(size_t layer) const;  // in the format of the layer's leaf

 private:
  struct Tensor {
    size_t kinds[2];  // indices in Fp8Health::kinds: of all layers, and of its layer; equal if it has no layer
    quant::DelayedRule rule;
    float scale;
    std::vector<float> history;
  };
  void add(const Tensor& t, double amax, Fp8Health& out) const;

  std::vector<Tensor> tensors_;  // x, w and dy of each layer
  std::vector<Fp8Kind> kinds_;   // empty ones
};

// Values with their names in the metrics file and TensorBoard: "fp8_scale_min",
// "fp8_fullest_dy_layer_3". Empty if no tensor has had a scale.
std::vector<NamedValue> fp8_values(const Fp8Health& health);

}  // namespace megalith
