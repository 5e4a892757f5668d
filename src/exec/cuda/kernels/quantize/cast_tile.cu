#include "exec/cuda/kernels/quantize/cast_tile.h"

#include "exec/cuda/kernels/quantize/tile.cuh"

namespace megalith::cuda {
namespace {

template <class X, CodeKind kFormat, bool kCounts>
__global__ void __launch_bounds__(TilePlace::kThreads, sizeof(X) == 2 ? 4 : 2)
    tensor_tile_kernel(ScaleRuleOfBox rule, CastPointers p, i64 rows, i64 columns) {
  __shared__ __align__(16) u32 turned[TilePlace::kTile * 32];
  const TilePlace t(blockIdx.x, rows, columns);
  const TileValues<X> v(static_cast<const X*>(p.x), t, columns);
  const BoxScale s = tensor_scale(rule, p);
  if (blockIdx.x == 0 && threadIdx.x == 0) put_scale_inv(p, s.scale_inv);
  const TileOut out{p.codes, p.codes_t, columns, rows};
  __shared__ u32 of_warp[TilePlace::kThreads / 32];
  if (p.seen) {
    const u32 most = __reduce_max_sync(0xffffffffu, v.largest());
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = most;
  }
  CastLosses losses;
  encode_tile<kFormat, kCounts>(
      v, t, out, turned, [&](int, int, int) { return s.scale; }, losses);
  __shared__ BlockLosses<TilePlace::kThreads> of_block;
  if constexpr (kCounts) put_losses(of_block, losses);
  __syncthreads();
  if constexpr (kCounts) add_block_losses(p, of_block);
  if (p.seen && threadIdx.x < 32) {
    const u32 most = __reduce_max_sync(0xffffffffu, of_warp[threadIdx.x % (TilePlace::kThreads / 32)]);
    if (threadIdx.x == 0) put_seen(p, most);
  }
  store_turned(t, out, turned);
}

}  // namespace

void launch_tensor_tiles(const CastLaunch& l, const CastPointers& p, cudaStream_t stream) {
  const unsigned blocks = unsigned(tiles_of(l.rows, l.columns));
  dispatch_activation(l.x, [&]<class X>() {
    with_code(l.rule.format, [&]<CodeKind kFormat>() {
      with_counts(p, [&]<bool kCounts>() {
        tensor_tile_kernel<X, kFormat, kCounts>
            <<<blocks, TilePlace::kThreads, 0, stream>>>(l.rule, p, l.rows, l.columns);
      });
    });
  });
  check_launch("[quantize] launch");
}

}  // namespace megalith::cuda
