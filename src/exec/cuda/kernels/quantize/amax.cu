// Each block reads 32 KiB. Maxima are of the bits of |x| as integers, so the order of blocks does not matter.
#include "exec/cuda/kernels/quantize/codes.cuh"

namespace megalith::cuda {
namespace {

constexpr int kThreads = 256, kLoads = 8;

constexpr int kMostBlocks = 1056;  // of a launch that usually does nothing: 8 for each SM of an H100

// unless: a scale. If it is above 0, nothing is read.
template <class X>
__global__ void __launch_bounds__(kThreads) amax_kernel(const X* x, i64 n, u32* amax, const float* unless) {
  if (unless && *unless > 0) return;
  constexpr i64 kEach = 16 / sizeof(X);
  const i64 packs = n / kEach;
  const uint4* from = reinterpret_cast<const uint4*>(x);
  u32 most = 0;
  for (i64 part = blockIdx.x; part * kThreads * kLoads < packs; part += gridDim.x) {
    const i64 first = part * kThreads * kLoads + threadIdx.x;
    uint4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) v[k] = first + k * kThreads < packs ? __ldg(from + first + k * kThreads) : uint4{};
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const u32 words[4] = {v[k].x, v[k].y, v[k].z, v[k].w};
      most = larger_bits<X>(most, words);
    }
  }
  most = bits_of_f32<X>(most);
  if (blockIdx.x == 0 && packs * kEach + threadIdx.x < n)
    most = max(most, magnitude_of(x[packs * kEach + threadIdx.x]));
  raise_amax<kThreads>(amax, most);
}

__global__ void start_kernel(u32* seen, float* scale_inv) { *seen = 0, *scale_inv = 0; }

void launch_amax(const AmaxLaunch& l, const void* x, u32* amax, const float* unless, cudaStream_t stream) {
  if (l.n == 0) return;
  dispatch(l.x, [&]<class X>() {
    const int blocks = blocks_for(l.n, kThreads * kLoads * i64(16 / sizeof(X)));
    amax_kernel<<<unless ? std::min(blocks, kMostBlocks) : blocks, kThreads, 0, stream>>>(static_cast<const X*>(x), l.n,
                                                                                          amax, unless);
  });
  check_launch("[amax] launch");
}

}  // namespace

void launch(const AmaxLaunch& l, const void* x, float* amax, cudaStream_t stream) {
  check_cuda(cudaMemsetAsync(amax, 0, sizeof(float), stream), "[amax] start");
  launch_amax(l, x, reinterpret_cast<u32*>(amax), nullptr, stream);
}

void launch_first_amax(const AmaxLaunch& l, const CastPointers& p, cudaStream_t stream) {
  start_kernel<<<1, 1, 0, stream>>>(p.seen, p.scale_inv);
  launch_amax(l, p.x, p.seen, p.state, stream);
}

}  // namespace megalith::cuda
