// N elements that move between memory and registers as one, at most 16 bytes at a time; their place must be a multiple
// of that.
#pragma once
#include "exec/cuda/launch.cuh"

namespace megalith::cuda {

template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T x[N];
};

// Elements `at`, at + 1, .. of a vector that is f32 or else bf16, widened.
template <int N>
__device__ inline void load_widened(const void* from, DType dtype, i64 at, float (&to)[N]) {
  if (dtype == DType::f32) {
    const Pack<float, N> p = *reinterpret_cast<const Pack<float, N>*>(static_cast<const float*>(from) + at);
#pragma unroll
    for (int e = 0; e < N; ++e) to[e] = p.x[e];
  } else {
    using Bf = __nv_bfloat16;
    const Pack<Bf, N> p = *reinterpret_cast<const Pack<Bf, N>*>(static_cast<const Bf*>(from) + at);
#pragma unroll
    for (int e = 0; e < N; ++e) to[e] = float(p.x[e]);
  }
}

// f with the C++ type of an activation's dtype, which prepare() has checked: f32 or bf16.
template <class F>
void dispatch_activation(DType t, F&& f) {
  if (t == DType::bf16) return f.template operator()<__nv_bfloat16>();
  f.template operator()<float>();
}

}  // namespace megalith::cuda
