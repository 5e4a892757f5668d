// A kernel writes scalars to pinned host memory. A cudaMemcpy would wait for an asynchronous checkpoint on the copy
// engine, for a second and more.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

// Enqueues. `host`: pinned.
void launch_store_scalars(const double* device, double* host, i64 n, cudaStream_t stream);

}  // namespace megalith::cuda
