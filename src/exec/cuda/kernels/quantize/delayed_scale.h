// Launches of CollectAmax and DelayedScale (ops/delayed_scale.h).
#pragma once
#include <span>

#include "exec/cuda/device.h"

namespace megalith::cuda {

struct SeenAmax {
  const float* amax;
  int place;  // in `seen`
};
// seen [n]: element `place` is at least the amax. starts: what was there before does not count.
void launch_collect_amax(std::span<const SeenAmax> amaxes, bool starts, float* seen, i64 n, cudaStream_t stream);

// A layer's state [1 + slots, 3] moves by seen [3], unless *counts is 0.
struct DelayedLaunch {
  i64 slots;
  bool largest;
  int margin;
  bool wide_gradients;  // the last tensor is in e5m2
};
void launch(const DelayedLaunch& l, float* state, const float* seen, const double* counts, cudaStream_t stream);

}  // namespace megalith::cuda
