// Casts with one scale for a tensor: packs of 8 values become 8 bytes. Elements that fill no pack are cast one by
// one, also in the transpose.
#include "exec/cuda/kernels/quantize/cast_tile.h"
#include "exec/cuda/kernels/quantize/codes.cuh"

namespace megalith::cuda {
namespace {

constexpr int kThreads = 256, kPack = 8, kPacks = 4;  // packs of a thread

// most: maximum over the block's threads.
__device__ inline void put_seen_of_block(const CastPointers& p, u32 most) {
  __shared__ u32 of_warp[kThreads / 32];
  most = __reduce_max_sync(0xffffffffu, most);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  most = __reduce_max_sync(0xffffffffu, threadIdx.x < kThreads / 32 ? of_warp[threadIdx.x] : 0);
  if (threadIdx.x == 0) put_seen(p, most);
}

template <class X, CodeKind kFormat, bool kCounts>
__global__ void __launch_bounds__(kThreads) cast_kernel(ScaleRuleOfBox rule, CastPointers p, i64 packs) {
  const BoxScale s = tensor_scale(rule, p);
  const i64 first = i64(blockIdx.x) * kThreads * kPacks + threadIdx.x;
  if (first == 0) put_scale_inv(p, s.scale_inv);
  Pack<X, kPack> v[kPacks] = {};
#pragma unroll
  for (int k = 0; k < kPacks; ++k)
    if (first + k * kThreads < packs)
      v[k] = load_pack<kPack>(static_cast<const X*>(p.x) + (first + k * kThreads) * kPack);
  if (p.seen) {
    u32 most = 0;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) most = larger_bits(most, v[k]);
    put_seen_of_block(p, bits_of_f32<X>(most));
  }
  CastLosses losses;
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    const Numbers<float, kPack> n = unpack<float>(v[k]);
    u32 words[kPack / 4];
#pragma unroll
    for (int w = 0; w < kPack / 4; ++w) {
      const float* x = n.x + 4 * w;
      const float v[4] = {x[0] * s.scale, x[1] * s.scale, x[2] * s.scale, x[3] * s.scale};
      words[w] = encode_four<kFormat>(v);
      if constexpr (kCounts) add_losses<kFormat>(x, v, words[w], losses);
    }
    if (first + k * kThreads < packs)
      reinterpret_cast<uint2*>(p.codes)[first + k * kThreads] = make_uint2(words[0], words[1]);
  }
  if constexpr (kCounts) {
    __shared__ BlockLosses<kThreads> of_block;
    put_losses(of_block, losses);
    __syncthreads();
    add_block_losses(p, of_block);
  }
}

// Elements from `begin` on, one by one.
template <class X, CodeKind kFormat>
__global__ void __launch_bounds__(kThreads)
    cast_single_kernel(ScaleRuleOfBox rule, CastPointers p, i64 begin, i64 rows, i64 columns) {
  const BoxScale s = tensor_scale(rule, p);
  const i64 i = begin + i64(blockIdx.x) * kThreads + threadIdx.x;
  if (i == 0) put_scale_inv(p, s.scale_inv);
  const float x = i < rows * columns ? as_float(static_cast<const X*>(p.x)[i]) : 0;
  if (p.seen) put_seen_of_block(p, magnitude_of(x));
  const u8 code = encode_one<kFormat>(x * s.scale);
  if (p.counts) count_single<kFormat>(p, x, x * s.scale, code);
  if (i >= rows * columns) return;
  if (p.codes) p.codes[i] = code;
  if (p.codes_t) p.codes_t[i % columns * rows + i / columns] = code;
}

template <class X, CodeKind kFormat>
void launch_cast(const CastLaunch& l, const CastPointers& p, cudaStream_t stream) {
  const i64 n = l.rows * l.columns, packs = p.codes_t || std::is_same_v<X, double> ? 0 : n / kPack;
  if constexpr (!std::is_same_v<X, double>)
    if (packs > 0)
      with_counts(p, [&]<bool kCounts>() {
        cast_kernel<X, kFormat, kCounts>
            <<<blocks_for(packs, kThreads * kPacks), kThreads, 0, stream>>>(l.rule, p, packs);
      });
  const i64 begin = packs * kPack;
  if (begin < n)
    cast_single_kernel<X, kFormat>
        <<<blocks_for(n - begin, kThreads), kThreads, 0, stream>>>(l.rule, p, begin, l.rows, l.columns);
}

}  // namespace

void start_counts(const CastPointers& p, cudaStream_t stream) {
  if (p.counts) check_cuda(cudaMemsetAsync(p.counts, 0, 2 * sizeof(*p.counts), stream), "[quantize] counts");
}

void launch(const CastLaunch& l, const CastPointers& p, cudaStream_t stream) {
  start_counts(p, stream);
  if (l.rows * l.columns == 0) return;
  if (p.codes_t && tensor_fits_tiles(l)) return launch_tensor_tiles(l, p, stream);
  dispatch(l.x, [&]<class X>() {
    with_code(l.rule.format, [&]<CodeKind kFormat>() { launch_cast<X, kFormat>(l, p, stream); });
  });
  check_launch("[quantize] launch");
}

}  // namespace megalith::cuda
