// Boxes of 1 x n, n x 1 and n x m values by tiles that hold whole ones: x is read once.
#include "exec/cuda/kernels/quantize/tile.cuh"

namespace megalith::cuda {
namespace {

enum class BoxShape { row, column, square };

struct BoxTileArgs {
  ScaleRuleOfBox rule;
  CodeTiles tiles;
  CastPointers p;
};

// A row's boxes lie in neighbouring lanes.
__device__ inline u32 largest_of_lanes(u32 most, int lanes) {
  for (int d = 1; d < lanes; d *= 2) most = max(most, __shfl_xor_sync(0xffffffffu, most, d));
  return most;
}

template <class X>
__device__ inline u32 largest_of_pack(const Pack<X, TilePlace::kColumns>& v) {
  const Numbers<float, TilePlace::kColumns> n = unpack<float>(v);
  u32 most = 0;
#pragma unroll
  for (float x : n.x) most = max(most, __float_as_uint(x) & 0x7fffffffu);
  return most;
}

// The scales of 1 x box_columns for each of the thread's rows.
template <class X>
__device__ void row_scales(const BoxTileArgs& a, const TilePlace& t, const TileValues<X>& v, float* scale_inv,
                           float (&scales)[TilePlace::kParts][TilePlace::kRows]) {
  const CodeTiles& c = a.tiles;
  const int lanes = int(c.box_columns) / t.kColumns;
  const i64 across = (c.columns + c.box_columns - 1) / c.box_columns, column = t.column + t.column_in_tile();
#pragma unroll
  for (int k = 0; k < t.kParts; ++k)
#pragma unroll
    for (int i = 0; i < t.kRows; ++i) {
      const u32 most = largest_of_lanes(largest_of_pack(v.at[k][i]), lanes);
      const BoxScale s = scale_of(a.rule, amax_of_bits(most), a.p.amax ? *a.p.amax : 0, 0);
      const i64 row = t.row + t.row_in_tile(k, i);
      scales[k][i] = s.scale;
      if (row < c.rows && column < c.columns && t.lane % lanes == 0)
        scale_inv[row * across + column / c.box_columns] = s.scale_inv;
    }
}

// amax of 4 rows of each box's columns -> parts [32, n], n boxes in a row of the tile.
template <BoxShape kShape, class X>
__device__ void amax_of_parts(const TilePlace& t, const TileValues<X>& v, int n, u32* parts) {
#pragma unroll
  for (int k = 0; k < t.kParts; ++k) {
    u32* part = parts + (k * 16 + t.group) * n;
    if constexpr (kShape == BoxShape::column) {
      u32 most[t.kColumns] = {};
#pragma unroll
      for (int i = 0; i < t.kRows; ++i) {
        const Numbers<float, TilePlace::kColumns> x = unpack<float>(v.at[k][i]);
#pragma unroll
        for (int e = 0; e < t.kColumns; ++e) most[e] = max(most[e], __float_as_uint(x.x[e]) & 0x7fffffffu);
      }
#pragma unroll
      for (int e = 0; e < t.kColumns; ++e) part[t.column_in_tile() + e] = most[e];
    } else {
      u32 most = 0;
#pragma unroll
      for (int i = 0; i < t.kRows; ++i) most = max(most, largest_of_pack(v.at[k][i]));
      const int lanes = 16 / n;
      most = largest_of_lanes(most, lanes);
      if (t.lane % lanes == 0) part[t.lane / lanes] = most;
    }
  }
}

// parts -> scales [128 / box_rows, n], in shared memory.
__device__ inline void tall_scales(const BoxTileArgs& a, const TilePlace& t, int n, const u32* parts, float* scale_inv,
                                   float* scales) {
  const CodeTiles& c = a.tiles;
  const int height = int(c.box_rows) / t.kRows, boxes = t.kTile / int(c.box_rows) * n;
  const i64 across = (c.columns + c.box_columns - 1) / c.box_columns;
  for (int id = threadIdx.x; id < boxes; id += t.kThreads) {
    const int down = id / n, along = id % n;
    u32 most = 0;
    for (int g = 0; g < height; ++g) most = max(most, parts[(down * height + g) * n + along]);
    const BoxScale s = scale_of(a.rule, amax_of_bits(most), a.p.amax ? *a.p.amax : 0, 0);
    const i64 row = t.row + down * c.box_rows, column = t.column + along * c.box_columns;
    scales[id] = s.scale;
    if (row < c.rows && column < c.columns) scale_inv[row / c.box_rows * across + column / c.box_columns] = s.scale_inv;
  }
}

template <class X, CodeKind kFormat, BoxShape kShape>
__global__ void __launch_bounds__(TilePlace::kThreads, sizeof(X) == 2 ? 2 : 1)
    box_tile_kernel(const __grid_constant__ BoxTileArgs a) {
  __shared__ __align__(16) u32 turned[TilePlace::kTile * 32];
  __shared__ float shared_scales[TilePlace::kTile / kLeastBoxRows * TilePlace::kTile];
  const CodeTiles& c = a.tiles;
  const i64 each = (c.rows + TilePlace::kTile - 1) / TilePlace::kTile *
                   ((c.columns + TilePlace::kTile - 1) / TilePlace::kTile),
            outer = blockIdx.x / each;
  const TilePlace t(blockIdx.x % each, c.rows, c.columns);
  const TileValues<X> v(static_cast<const X*>(a.p.x) + outer * c.rows * c.columns, t, c.rows, c.columns);
  const i64 grid = (c.rows + c.box_rows - 1) / c.box_rows * ((c.columns + c.box_columns - 1) / c.box_columns);
  float* scale_inv = a.p.scale_inv + outer * grid;
  const TileOut out{a.p.codes ? a.p.codes + outer * c.rows * c.columns : nullptr,
                    a.p.codes_t ? a.p.codes_t + outer * c.rows : nullptr, c.rows, c.columns, c.outer * c.rows};
  if constexpr (kShape == BoxShape::row) {
    float scales[TilePlace::kParts][TilePlace::kRows];
    row_scales(a, t, v, scale_inv, scales);
    encode_tile<kFormat>(v, t, out, turned, [&](int k, int i, int) { return scales[k][i]; });
  } else {
    const int n = kShape == BoxShape::column ? t.kTile : t.kTile / int(c.box_columns);
    amax_of_parts<kShape>(t, v, n, turned);
    __syncthreads();
    tall_scales(a, t, n, turned, scale_inv, shared_scales);
    __syncthreads();
    const int width = kShape == BoxShape::column ? 1 : int(c.box_columns);
    encode_tile<kFormat>(v, t, out, turned, [&](int k, int, int e) {
      const int box_row = (k * 16 + t.group) * t.kRows / int(c.box_rows);
      return shared_scales[box_row * n + (t.column_in_tile() + (width == 1 ? e : 0)) / width];
    });
  }
  if (!out.codes_t) return;
  __syncthreads();
  store_turned(t, out, turned);
}

template <class X, CodeKind kFormat>
void launch_shape(const BoxTileArgs& a, cudaStream_t stream) {
  const CodeTiles& c = a.tiles;
  const unsigned blocks = unsigned(c.outer * tiles_of(c.rows, c.columns));
  if (c.box_rows == 1)
    box_tile_kernel<X, kFormat, BoxShape::row><<<blocks, TilePlace::kThreads, 0, stream>>>(a);
  else if (c.box_columns == 1)
    box_tile_kernel<X, kFormat, BoxShape::column><<<blocks, TilePlace::kThreads, 0, stream>>>(a);
  else
    box_tile_kernel<X, kFormat, BoxShape::square><<<blocks, TilePlace::kThreads, 0, stream>>>(a);
}

}  // namespace

void launch(const TileLaunch& l, const CastPointers& p, cudaStream_t stream) {
  const BoxTileArgs a{l.rule, l.tiles, p};
  dispatch_activation(l.x, [&]<class X>() {
    if (l.rule.format == CodeKind::e4m3)
      launch_shape<X, CodeKind::e4m3>(a, stream);
    else
      launch_shape<X, CodeKind::e5m2>(a, stream);
  });
  check_launch("[quantize] launch of tiles");
}

}  // namespace megalith::cuda
