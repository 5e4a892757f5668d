// An optimizer's rule on many parameters in one launch; formulas in ops/update_rules.h, layouts in ops/update.h.
// Pointers must be multiples of 16 bytes.
#pragma once
#include <optional>
#include <span>

#include "exec/cuda/device.h"
#include "ops/update_rules.h"

namespace megalith::cuda {

// Of all parameters of a launch. Weights are f32, beside a copy in compute precision if there is one; or, with `split`,
// that copy, in bf16, and what it lacks (base/split_float.h). The rest of the state is f32.
struct WeightTypes {
  DType copy = DType::bf16;  // or f32
  bool split = false;
  bool operator==(const WeightTypes&) const = default;
};
// Of an op's weights, gradients and states, and of its copy.
WeightTypes weight_types(std::string_view op, std::span<const DType> state, std::optional<DType> copy);

constexpr int kMostStates = 2;  // of a rule

struct UpdateItem {
  void* w;  // float; with `split` u16
  const float* g;
  float* states[kMostStates];
  void* copy;  // nullptr: none
  i64 n;
  bool decay;
  const u8* marks = nullptr;  // by row of `width` elements: whether g is to be read there, or is 0; nullptr: read all
  i64 width = 0;
};

// On the device, f64; what is where in them as ops/update.h has it.
enum { kLrAt, kWeightDecayAt, kOwnAt };  // hyper
enum { kFactorAt = 2, kCountsAt };       // scalars
struct UpdateNumbers {
  const double *scalars, *hyper;
};

struct UpdateLaunch {
  UpdateRule rule;
  WeightTypes weights = {};
};
void launch(const UpdateLaunch& l, std::span<const UpdateItem> items, UpdateNumbers numbers, cudaStream_t stream);

}  // namespace megalith::cuda
