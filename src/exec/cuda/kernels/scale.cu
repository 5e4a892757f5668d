#include "exec/cuda/kernels/scale.h"

#include "exec/cuda/kernels/elementwise.cuh"

namespace megalith::cuda {

template <class A>
struct Times {
  A k;
  __device__ A operator()(A x) const { return k * x; }
};

void launch(const ScaleLaunch& l, const void* x, void* y, cudaStream_t stream) {
  dispatch(l.from, [&]<class X>() {
    dispatch(l.to, [&]<class Y>() {
      using A = arithmetic_t<X, Y>;
      launch_map(stream, l.n, Times<A>{A(l.k)}, static_cast<Y*>(y), static_cast<const X*>(x));
    });
  });
  check_launch("[scale, cast] launch");
}

}  // namespace megalith::cuda
