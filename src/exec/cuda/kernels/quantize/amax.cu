// Each block reads 32 KiB. Maxima are of the bits of |x|, integers, so in which order blocks end does not matter.
#include "exec/cuda/kernels/quantize/codes.cuh"

namespace megalith::cuda {
namespace {

constexpr int kThreads = 256, kLoads = 8;

// Of 16 bytes. Pairs of bf16 stay pairs.
template <class X>
__device__ u32 larger_bits(u32 most, const uint4& v) {
  const u32 words[4] = {v.x, v.y, v.z, v.w};
  if constexpr (std::is_same_v<X, __nv_bfloat16>) {
#pragma unroll
    for (int i = 0; i < 4; ++i) most = __vmaxu2(most, words[i] & 0x7fff7fffu);
  } else if constexpr (std::is_same_v<X, float>) {
#pragma unroll
    for (int i = 0; i < 4; ++i) most = max(most, words[i] & 0x7fffffffu);
  } else {
    X x[16 / sizeof(X)];
    memcpy(x, words, sizeof x);
#pragma unroll
    for (X one : x) most = max(most, magnitude_of(one));
  }
  return most;
}

template <class X>
__device__ u32 bits_of_f32(u32 most) {
  if constexpr (std::is_same_v<X, __nv_bfloat16>) return max(most >> 16, most & 0xffffu) << 16;
  return most;
}

template <class X>
__global__ void __launch_bounds__(kThreads) amax_kernel(const X* x, i64 n, u32* amax) {
  constexpr i64 kEach = 16 / sizeof(X);
  const i64 packs = n / kEach, first = i64(blockIdx.x) * kThreads * kLoads + threadIdx.x;
  const uint4* from = reinterpret_cast<const uint4*>(x);
  uint4 v[kLoads];
#pragma unroll
  for (int k = 0; k < kLoads; ++k) v[k] = first + k * kThreads < packs ? __ldg(from + first + k * kThreads) : uint4{};
  u32 most = 0;
#pragma unroll
  for (int k = 0; k < kLoads; ++k) most = larger_bits<X>(most, v[k]);
  most = bits_of_f32<X>(most);
  if (blockIdx.x == 0 && packs * kEach + threadIdx.x < n)
    most = max(most, magnitude_of(x[packs * kEach + threadIdx.x]));
  most = min(__reduce_max_sync(0xffffffffu, most), kInfinityBits);
  __shared__ u32 of_warp[kThreads / 32];
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  most = __reduce_max_sync(0xffffffffu, threadIdx.x < kThreads / 32 ? of_warp[threadIdx.x] : 0);
  if (threadIdx.x == 0 && most > 0) atomicMax(amax, most);
}

}  // namespace

void launch(const AmaxLaunch& l, const void* x, float* amax, cudaStream_t stream) {
  check_cuda(cudaMemsetAsync(amax, 0, sizeof(float), stream), "[amax] start");
  if (l.n == 0) return;
  dispatch(l.x, [&]<class X>() {
    const i64 each = kThreads * kLoads * i64(16 / sizeof(X));
    amax_kernel<<<blocks_for(l.n, each), kThreads, 0, stream>>>(static_cast<const X*>(x), l.n,
                                                                reinterpret_cast<u32*>(amax));
  });
  check_launch("[amax] launch");
}

}  // namespace megalith::cuda
