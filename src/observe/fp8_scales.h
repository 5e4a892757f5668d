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

// Of a step's casts, by the scales that they were made with.
struct Fp8Health {
  // Of the tensor that comes nearest to what its scale leaves room for: the amax that its next scale follows from, and
  // the largest number that the scale can hold. 0: no tensor has had a scale yet.
  double amax = 0, threshold = 0;
  double scale_min = 0, scale_max = 0;
  i64 saturated = 0;  // tensors with values beyond the largest number
  i64 underflow = 0;  // tensors whose values all became 0
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
    quant::DelayedRule rule;
    float scale;
    std::vector<float> history;
  };
  std::vector<Tensor> tensors_;  // of each layer x, w, dy
};

}  // namespace megalith
