// ops/tally.h: n numbers, and their positions in the vector of sums.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

// sums[i] += x[i], or sums[i] = x[i] at the start of a step. dtype: of x, f32 or f64.
void launch_add_into(DType dtype, i64 n, bool anew, const void* x, double* sums, cudaStream_t stream);
// y[i] = sums[i]
void launch_read_from(i64 n, const double* sums, float* y, cudaStream_t stream);

}  // namespace megalith::cuda
