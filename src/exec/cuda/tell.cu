#include "exec/cuda/tell.h"

namespace megalith::cuda {

static __global__ void tell(const double* from, double* to, i64 n) {
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
}

void launch_tell(const double* device, double* host, i64 n, cudaStream_t stream) {
  const int threads = n <= 32 ? 32 : 256;
  tell<<<1, threads, 0, stream>>>(device, host, n);
  check_launch("reading back a result");
}

}  // namespace megalith::cuda
