#include "exec/cuda/kernels/latent_keys.h"

#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 256;

// A thread computes one number. Threads of a row are neighbours.
template <class T>
__global__ void __launch_bounds__(kThreads) shared_key_kernel(const SharedKeyGrad l, const T* dk, T* out) {
  const i64 i = i64(blockIdx.x) * kThreads + threadIdx.x, k = l.own + l.shared;
  if (i >= l.rows * l.shared) return;
  const T* at = dk + i / l.shared * l.heads * k + l.own + i % l.shared;
  float sum = 0;
#pragma unroll 8
  for (i64 head = 0; head < l.heads; ++head) sum += convert<float>(at[head * k]);
  out[i] = convert<T>(sum);
}

}  // namespace

void launch(const SharedKeyGrad& l, const void* dk, void* out, cudaStream_t stream) {
  const i64 n = l.rows * l.shared;
  if (n == 0) return;
  dispatch_activation(l.dtype, [&]<class T>() {
    shared_key_kernel<T>
        <<<blocks_for(n, kThreads), kThreads, 0, stream>>>(l, static_cast<const T*>(dk), static_cast<T*>(out));
  });
  check_launch("[latent_keys_grad] launch");
}

}  // namespace megalith::cuda
