// ops/sinkhorn.h in f32, in one block, because each round depends on the previous one.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct SinkhornLaunch {
  static constexpr int kMostExperts = 1024;
  i64 tokens;
  int experts, most_rounds;
  float eps, enough;
};
// d0: memory for one number a token.
void launch_sinkhorn(const SinkhornLaunch& l, const float* z, float* d0, float* y, cudaStream_t stream);

}  // namespace megalith::cuda
