#include "exec/cuda/kernels/ones.h"

#include "exec/cuda/kernels/elementwise.cuh"

namespace megalith::cuda {

template <class A>
struct One {
  __device__ A operator()() const { return A(1); }
};

void launch_ones(DType dtype, void* y, i64 n, cudaStream_t stream) {
  dispatch(dtype, [&]<class Y>() { launch_map(stream, n, One<accum_t<Y>>{}, static_cast<Y*>(y)); });
  check_launch("[ones] launch");
}

}  // namespace megalith::cuda
