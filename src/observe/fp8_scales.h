// Delayed scaling's state as the device has it, followed on the host: it starts as the device's, and moves by what each
// step's casts saw. So nothing is read back but that.
#pragma once
#include <span>
#include <vector>

#include "passes/quantize.h"
#include "quant/delayed.h"
#include "step/step.h"

namespace megalith {

class Interpreter;
struct NamedValue;

// Of a step's casts of one kind, of one layer of the stack or of all.
struct Fp8Kind {
  const char* kind;    // "x", "w", "dy"
  i64 layer = -1;      // -1: of all
  double fullest = 0;  // the largest |value| of a tensor over the largest number that its scale can hold
  i64 saturated = 0, underflow = 0;
};

// Of a step's casts, by the scales that they were made with.
struct Fp8Health {
  // Of the tensor that comes nearest to what its scale leaves room for: the amax that its next scale follows from, and
  // the largest number that the scale can hold. 0: no tensor has had a scale yet.
  double amax = 0, threshold = 0;
  double scale_min = 0, scale_max = 0;
  i64 saturated = 0;             // tensors with values beyond the largest number
  i64 underflow = 0;             // tensors whose values all became 0
  std::vector<Fp8Kind> kinds{};  // the three of all layers, then those of each layer that has scales
};

class Fp8Scales {
 public:
  // Reads the state from the device. Error if the step has none.
  Fp8Scales(const PlannedStep& step, Interpreter& interpreter, const QuantizeConfig& config);

  // amax: of a step that counted (StepResult).
  Fp8Health take(std::span<const double> amax);

  std::vector<float> state(size_t layer) const;  // as its leaf

 private:
  struct Tensor {
    size_t kinds[2];  // Fp8Health::kinds: of all layers, of its own; the same for a tensor of no layer of the stack
    quant::DelayedRule rule;
    float scale;
    std::vector<float> history;
  };
  void add(const Tensor& t, double amax, Fp8Health& out) const;

  std::vector<Tensor> tensors_;  // of each layer x, w, dy
  std::vector<Fp8Kind> kinds_;   // empty ones
};

// By the names of the metrics file and TensorBoard: "fp8_scale_min", "fp8_saturated_x", "fp8_fullest_dy_layer_3".
// None if no tensor has had a scale.
std::vector<NamedValue> fp8_values(const Fp8Health& health);

}  // namespace megalith
