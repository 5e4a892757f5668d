// Computes values and casts them with one kept scale. If there is no scale yet, values are computed twice: first for
// their amax.
#include <algorithm>

#include "exec/cuda/kernels/quantize/coded_sources.cuh"

namespace megalith::cuda {
namespace {

constexpr int kThreads = TilePlace::kThreads;
constexpr unsigned kMostBlocks = 1056;  // of a launch that usually does nothing: 8 for each SM of an H100

template <class Source>
struct CodedTensorArgs {
  Source source;
  ScaleRuleOfBox rule;
  CastPointers p;
  i64 rows, columns;
};

template <int kMatrices>
__device__ inline u32 largest_of(u32 most, const CodedRows<kMatrices>& v) {
#pragma unroll
  for (int m = 0; m < kMatrices; ++m)
#pragma unroll
    for (int i = 0; i < TilePlace::kRows; ++i) most = larger_bits(most, v[m][i]);
  return most;
}

template <class Source>
__global__ void __launch_bounds__(kThreads)
    coded_amax_kernel(const __grid_constant__ CodedTensorArgs<Source> a, u32 tiles) {
  if (*a.p.state > 0) return;
  u32 most = 0;
  for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const TilePlace t(tile, a.rows, a.columns);
#pragma unroll
    for (int k = 0; k < t.kParts; ++k) {
      CodedRows<Source::kMatrices> v;
      a.source.make(t, {0, 1}, k, v);
      most = largest_of<Source::kMatrices>(most, v);
    }
  }
  raise_amax<kThreads>(a.p.seen, bits_of_f32<CodedValue>(most));
}

template <class Source, CodeKind kFormat, bool kCounts>
__global__ void __launch_bounds__(kThreads, Source::kMatrices == 1 ? 4 : 3)
    coded_tensor_kernel(const __grid_constant__ CodedTensorArgs<Source> a) {
  constexpr int kMatrices = Source::kMatrices;
  __shared__ __align__(16) u32 turned[kMatrices][TilePlace::kTile * 32];
  const TilePlace t(blockIdx.x, a.rows, a.columns);
  const BoxScale s = tensor_scale(a.rule, a.p);
  if (blockIdx.x == 0 && threadIdx.x == 0) put_scale_inv(a.p, s.scale_inv);
  const auto out = [&](int m) {
    return TileOut{a.p.codes ? a.p.codes + m * a.columns : nullptr,
                   a.p.codes_t ? a.p.codes_t + m * a.columns * a.rows : nullptr, kMatrices * a.columns, a.rows};
  };
  CastLosses losses;
  u32 most = 0;
#pragma unroll
  for (int k = 0; k < t.kParts; ++k) {
    CodedRows<kMatrices> v;
    a.source.make(t, {0, 1}, k, v);
    most = largest_of<kMatrices>(most, v);
#pragma unroll
    for (int m = 0; m < kMatrices; ++m)
      encode_part<kFormat, kCounts>(
          v[m], k, t, out(m), turned[m], [&](int, int, int) { return s.scale; }, losses);
  }
  __shared__ u32 of_warp[kThreads / 32];
  __shared__ BlockLosses<kThreads> of_block;
  most = __reduce_max_sync(0xffffffffu, bits_of_f32<CodedValue>(most));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = most;
  if constexpr (kCounts) put_losses(of_block, losses);
  __syncthreads();
  if constexpr (kCounts) add_block_losses(a.p, of_block);
  if (threadIdx.x < 32) {
    most = __reduce_max_sync(0xffffffffu, of_warp[threadIdx.x % (kThreads / 32)]);
    if (threadIdx.x == 0) put_seen(a.p, most);
  }
  if (!a.p.codes_t) return;
#pragma unroll
  for (int m = 0; m < kMatrices; ++m) store_turned(t, out(m), turned[m]);
}

__global__ void start_kernel(u32* seen, float* scale_inv) { *seen = 0, *scale_inv = 0; }

}  // namespace

void launch_coded_tensor(const CodedLaunch& l, const SourcePointers& source, const CastPointers& p,
                         cudaStream_t stream) {
  const unsigned tiles = unsigned(tiles_of(l.tiles.rows, l.tiles.columns));
  start_counts(p, stream);
  start_kernel<<<1, 1, 0, stream>>>(p.seen, p.scale_inv);
  with_source(l, source, [&]<class Source>(const Source& by) {
    const CodedTensorArgs<Source> a{by, l.rule, p, l.tiles.rows, l.tiles.columns};
    coded_amax_kernel<<<std::min(tiles, kMostBlocks), kThreads, 0, stream>>>(a, tiles);
    with_fp8(l.rule.format, [&]<CodeKind kFormat>() {
      with_counts(
          p, [&]<bool kCounts>() { coded_tensor_kernel<Source, kFormat, kCounts><<<tiles, kThreads, 0, stream>>>(a); });
    });
  });
  check_launch("[coded_result] launch");
}

}  // namespace megalith::cuda
