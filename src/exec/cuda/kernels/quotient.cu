#include "exec/cuda/kernels/elementwise.cuh"
#include "exec/cuda/kernels/quotient.h"

namespace megalith::cuda {

struct Divided {
  template <class A>
  __device__ A operator()(A a, A b) const {
    return b == A(0) ? A(0) : a / b;
  }
};

void launch(const QuotientLaunch& l, const void* a, const void* b, void* y, cudaStream_t stream) {
  dispatch(l.dtype, [&]<class T>() {
    launch_map(stream, 1, Divided{}, static_cast<T*>(y), static_cast<const T*>(a), static_cast<const T*>(b));
  });
  check_launch("[quotient] launch");
}

}  // namespace megalith::cuda
