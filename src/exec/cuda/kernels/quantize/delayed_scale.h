// Launches of CollectAmax and DelayedScale (ops/delayed_scale.h), and of CollectCounts (ops/cast_counts.h).
#pragma once
#include <span>

#include "exec/cuda/device.h"

namespace megalith::cuda {

struct SeenAmax {
  const float* amax;
  int place;  // index in `seen`
};
// For each item: seen[place] = max(seen[place], amax). starts: first sets seen [n] to 0.
void launch_collect_amax(std::span<const SeenAmax> amaxes, bool starts, float* seen, i64 n, cudaStream_t stream);

struct CountedCast {
  const i64* counts;  // two numbers
  int place;          // row of `seen`
  i64 elements;
};
// Adds the counts and the elements of each cast to its row of seen [rows, 3].
void launch_collect_counts(std::span<const CountedCast> casts, bool starts, double* seen, i64 rows,
                           cudaStream_t stream);

// Updates the state [1 + slots, 3] of layer i from seen[3 i] .. seen[3 i + 2], unless *counts is 0.
struct DelayedLaunch {
  i64 slots;
  bool largest;
  int margin;
  bool wide_gradients;  // the last tensor, dy, is e5m2
};
void launch(const DelayedLaunch& l, std::span<float* const> states, const float* seen, const double* counts,
            cudaStream_t stream);

}  // namespace megalith::cuda
