#include "exec/cuda/store_scalars.h"

namespace megalith::cuda {

static __global__ void store_scalars(const double* from, double* to, i64 n) {
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
}

void launch_store_scalars(const double* device, double* host, i64 n, cudaStream_t stream) {
  const int threads = n <= 32 ? 32 : 256;
  store_scalars<<<1, threads, 0, stream>>>(device, host, n);
  check_launch("reading back a result");
}

}  // namespace megalith::cuda
