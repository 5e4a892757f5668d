// An optimizer's rule on many parameters in one launch; formulas in ops/update_rules.h, layouts in ops/update.h.
// Pointers must be multiples of 16 bytes.
#pragma once
#include <array>
#include <optional>
#include <span>

#include "exec/cuda/device.h"
#include "ops/update_rules.h"

namespace megalith::cuda {

constexpr int kMostStates = 2;  // of a rule

// For all parameters of a launch. Weights are f32, with an optional copy in compute precision. With `split` they are
// that copy in bf16 and its remaining bits (base/split_float.h). Gradients and states are f32 or bf16, with a copy in
// f16 f32 or f16. New states are rounded to nearest even.
struct UpdateTypes {
  DType copy = DType::bf16;  // or f32, f16
  bool split = false;
  DType g = DType::f32;
  std::array<DType, kMostStates> states = {DType::f32, DType::f32};
  bool operator==(const UpdateTypes&) const = default;
  bool all_f32() const { return g == DType::f32 && states == UpdateTypes{}.states; }
};
// The types of an op's weights, gradient and states, and of its copy.
UpdateTypes update_types(std::string_view op, std::span<const DType> ins, std::optional<DType> copy);

struct UpdateItem {
  void* w;  // in the type of UpdateTypes; with `split` u16
  const void* g;
  void* states[kMostStates];
  void* copy;  // nullptr: none
  i64 n;
  bool decay;
  // one for each row of `width` elements: 1: g is read, 0: g counts as 0; nullptr: all g is read
  const u8* marks = nullptr;
  i64 width = 0;
};

// f64 numbers on the device; positions as in ops/update.h.
enum { kLrAt, kWeightDecayAt, kOwnAt };  // step_scalars_in
enum { kFactorAt = 2, kCountsAt };       // scalars
struct UpdateNumbers {
  const double *scalars, *step_scalars_in;
};

struct UpdateLaunch {
  UpdateRule rule;
  UpdateTypes types = {};
};
void launch(const UpdateLaunch& l, std::span<const UpdateItem> items, UpdateNumbers numbers, cudaStream_t stream);

}  // namespace megalith::cuda
