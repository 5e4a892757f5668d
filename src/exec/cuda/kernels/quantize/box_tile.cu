// Boxes of 1 x n, n x 1 and n x m values, by tiles of whole boxes: x is read once.
#include "exec/cuda/kernels/quantize/box_tile.cuh"

namespace megalith::cuda {
namespace {

// Blocks of an SM at once, by their registers.
template <class X, BoxShape kShape, bool kWhole>
constexpr int kBlocksOfSm = sizeof(X) > 2                       ? 1
                            : kWhole || kShape == BoxShape::row ? 4
                                                                : 3;

template <class X, CodeKind kFormat, BoxShape kShape, bool kWhole, bool kCounts>
__global__ void __launch_bounds__(TilePlace::kThreads, kBlocksOfSm<X, kShape, kWhole>)
    box_tile_kernel(const __grid_constant__ BoxTileArgs a) {
  __shared__ __align__(16) u32 turned[TilePlace::kTile * 32];
  const CodeTiles& c = a.tiles;
  const u32 each = u32((c.rows + TilePlace::kTile - 1) / TilePlace::kTile) *
                   u32((c.columns + TilePlace::kTile - 1) / TilePlace::kTile);
  const i64 outer = blockIdx.x / each;
  const TilePlace t(blockIdx.x % each, c.rows, c.columns);
  // From matrix to matrix, and from row to row.
  const i64 step = c.mixed ? c.columns : c.rows * c.columns, pitch = c.mixed ? c.outer * c.columns : c.columns;
  const TileValues<X> v(static_cast<const X*>(a.p.x) + outer * step, t, pitch);
  const TileOut out{a.p.codes ? a.p.codes + outer * step : nullptr,
                    a.p.codes_t ? a.p.codes_t + outer * c.rows : nullptr, pitch, c.outer * c.rows};
  const ScalePlace to{a.p.scale_inv + outer * a.across * (c.mixed ? 1 : a.down),
                      c.mixed ? c.outer * a.across : a.across};
  CastLosses losses;
  if constexpr (kShape == BoxShape::row) {
    float scales[kRowsOfThread];
    row_scales(t, v, int(c.box_columns), to, scale_by_rule(a), scales);
    encode_tile<kFormat, kCounts>(
        v, t, out, turned, [&](int k, int i, int) { return scales[k * TilePlace::kRows + i]; }, losses);
  } else {
    __shared__ __align__(16) float scales[(kWhole ? 1 : TilePlace::kTile / kLeastBoxRows) * TilePlace::kTile];
    encode_tall<kFormat, kShape, kWhole, kCounts>(a, t, v, out, to, turned, scales, losses);
  }
  __shared__ BlockLosses<TilePlace::kThreads> of_block;
  if constexpr (kCounts) put_losses(of_block, losses);
  if (!kCounts && !out.codes_t) return;
  __syncthreads();
  if constexpr (kCounts) add_block_losses(a.p, of_block);
  if (!out.codes_t) return;
  store_turned(t, out, turned);
}

template <class X, CodeKind kFormat, BoxShape kShape, bool kWhole>
void launch_boxes(const BoxTileArgs& a, unsigned blocks, cudaStream_t stream) {
  with_counts(a.p, [&]<bool kCounts>() {
    box_tile_kernel<X, kFormat, kShape, kWhole, kCounts><<<blocks, TilePlace::kThreads, 0, stream>>>(a);
  });
}
template <class X, CodeKind kFormat, BoxShape kShape>
void launch_tall(const BoxTileArgs& a, unsigned blocks, cudaStream_t stream) {
  if (a.tiles.box_rows == TilePlace::kTile)
    launch_boxes<X, kFormat, kShape, true>(a, blocks, stream);
  else
    launch_boxes<X, kFormat, kShape, false>(a, blocks, stream);
}

template <class X, CodeKind kFormat>
void launch_shape(const BoxTileArgs& a, cudaStream_t stream) {
  const CodeTiles& c = a.tiles;
  const unsigned blocks = unsigned(c.outer * tiles_of(c.rows, c.columns));
  if (c.box_rows == 1)
    launch_boxes<X, kFormat, BoxShape::row, false>(a, blocks, stream);
  else if (c.box_columns == 1)
    launch_tall<X, kFormat, BoxShape::column>(a, blocks, stream);
  else
    launch_tall<X, kFormat, BoxShape::square>(a, blocks, stream);
}

}  // namespace

void launch(const TileLaunch& l, const CastPointers& p, cudaStream_t stream) {
  const CodeTiles& c = l.tiles;
  const BoxTileArgs a{l.rule, c, p, (c.rows + c.box_rows - 1) / c.box_rows,
                      (c.columns + c.box_columns - 1) / c.box_columns};
  start_counts(p, stream);
  dispatch_activation(l.x, [&]<class X>() {
    if (l.rule.format == CodeKind::e4m3)
      launch_shape<X, CodeKind::e4m3>(a, stream);
    else
      launch_shape<X, CodeKind::e5m2>(a, stream);
  });
  check_launch("[quantize] launch of tiles");
}

}  // namespace megalith::cuda
