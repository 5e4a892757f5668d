// y = 1, n times.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

void launch_ones(DType dtype, void* y, i64 n, cudaStream_t stream);

}  // namespace megalith::cuda
