// Small results into the host's memory by a kernel. A copy would wait for its turn at the copy engine: behind all of a
// checkpoint's on their way to the host, a second and more of them.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

// Enqueues. `host`: pinned.
void launch_tell(const double* device, double* host, i64 n, cudaStream_t stream);

}  // namespace megalith::cuda
