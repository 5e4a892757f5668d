// Shared code of all .cu files: element types on the device, 16-byte vectors, warp and block sums, launch shapes.
// nvcc compiles only device code and its launches. Ops, plans and other host code are in .cpp files.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "exec/cuda/device.h"

namespace megalith::cuda {

// The C++ type of a dtype in device code: float, double, __nv_bfloat16 or __half. Error for others.
template <class F>
auto dispatch(DType t, F&& f) {
  switch (t) {
    case DType::f32:
      return f.template operator()<float>();
    case DType::bf16:
      return f.template operator()<__nv_bfloat16>();
    case DType::f16:
      return f.template operator()<__half>();
    case DType::f64:
      return f.template operator()<double>();
    default:
      fail("dtype {} has no CUDA arithmetic", name_of(t));
  }
}

// The type of sums and statistics of T.
template <class T>
struct accum {
  using type = float;
};
template <>
struct accum<double> {
  using type = double;
};
template <class T>
using accum_t = typename accum<T>::type;

// 16 bytes of elements, loaded and stored at once.
template <class T>
struct alignas(16) Vec {
  static constexpr int kSize = 16 / sizeof(T);
  T x[kSize];
};

template <class T>
__device__ inline accum_t<T> widen(T x) {
  return accum_t<T>(x);
}
template <class T>
__device__ inline T narrow(accum_t<T> x) {
  return T(x);
}

// Sums over the 32 lanes, in a fixed order; every lane gets the result.
template <class A>
__device__ inline A warp_sum(A x) {
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) x += __shfl_xor_sync(0xffffffffu, x, lane);
  return x;
}

// Sums over the block (blockDim.x a multiple of 32, at most 1024); every thread gets the result. `parts`: 32 elements
// of shared memory that nothing else uses during the call.
template <class A>
__device__ inline A block_sum(A x, A* parts) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  x = warp_sum(x);
  if (lane == 0) parts[warp] = x;
  __syncthreads();
  x = warp_sum(lane < warps ? parts[lane] : A(0));
  __syncthreads();
  return x;
}

inline int blocks_for(i64 n, i64 each) { return int((n + each - 1) / each); }

}  // namespace megalith::cuda
