#include "exec/cuda/kernels/scale.h"

#include "exec/cuda/launch.cuh"

namespace megalith::cuda {

constexpr int kThreads = 256;

template <class X, class Y, class A>
static __global__ void scale_kernel(const X* x, Y* y, A k, i64 n) {
  const i64 i = i64(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) y[i] = Y(A(x[i]) * k);
}

void launch(const ScaleLaunch& l, const void* x, void* y, cudaStream_t stream) {
  if (l.n == 0) return;
  dispatch(l.from, [&]<class X>() {
    dispatch(l.to, [&]<class Y>() {
      using A = std::conditional_t<std::is_same_v<X, double> || std::is_same_v<Y, double>, double, float>;
      scale_kernel<<<blocks_for(l.n, kThreads), kThreads, 0, stream>>>(static_cast<const X*>(x), static_cast<Y*>(y),
                                                                       A(l.k), l.n);
    });
  });
  check_launch("[scale, cast] launch");
}

}  // namespace megalith::cuda
