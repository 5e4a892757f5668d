// ops/expert_counts.h: n numbers in one block.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

void launch_count_shares(int n, const float* counts, float* shares, cudaStream_t stream);
// scalars: of StepScalars; the one at `counts_at` is 0 if the step does not count.
void launch_balance_bias(int n, float rate, const float* counts, const double* scalars, int counts_at, float* bias,
                         cudaStream_t stream);

}  // namespace megalith::cuda
