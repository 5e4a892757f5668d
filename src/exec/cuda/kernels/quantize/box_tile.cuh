// Scales and codes of a tile that has whole boxes: of 1 x n, n x 1 or n x m values.
#pragma once
#include "exec/cuda/kernels/quantize/tile.cuh"

namespace megalith::cuda {

enum class BoxShape { row, column, square };

struct BoxTileArgs {
  ScaleRuleOfBox rule;
  CodeTiles tiles;
  CastPointers p;
  i64 down, across;  // boxes of a matrix
};

// The box of a position in the tile, along one dim. Each tile begins with a box.
__device__ inline i64 box_at(i64 tile_begins, int at, i64 box) {
  return tile_begins / TilePlace::kTile * (TilePlace::kTile / int(box)) + at / int(box);
}

// The location of the scales of a tile's boxes.
struct ScalePlace {
  float* scale_inv;  // of the matrix's first box
  i64 pitch;         // of the boxes' rows
};

// A row's boxes are in neighbouring lanes.
__device__ inline u32 largest_of_lanes(u32 most, int lanes) {
  for (int d = 1; d < lanes; d *= 2) most = max(most, __shfl_xor_sync(0xffffffffu, most, d));
  return most;
}

inline constexpr int kRowsOfThread = TilePlace::kParts * TilePlace::kRows;

// Of 8 neighbouring lanes, lane r gets the largest of the lanes' most[r]. Each step halves the numbers of a lane.
__device__ inline u32 largest_of_own_row(u32 (&most)[kRowsOfThread], int lane) {
#pragma unroll
  for (int half = kRowsOfThread / 2; half > 0; half /= 2) {
    const bool upper = lane & half;
#pragma unroll
    for (int r = 0; r < half; ++r) {
      const u32 kept = upper ? most[r + half] : most[r], sent = upper ? most[r] : most[r + half];
      most[r] = max(kept, __shfl_xor_sync(0xffffffffu, sent, half));
    }
  }
  return most[0];
}

// The scales of 1 x box_columns boxes for each of the thread's rows. A box has at least 8 lanes, and each computes the
// scale of one row. scale_of(bits): the scale of a box, by the bits of its amax.
template <class X, class ScaleOf>
__device__ inline void row_scales_by_lanes(const TilePlace& t, const TileValues<X>& v, int box_columns,
                                           const ScalePlace& to, ScaleOf&& scale_of, float (&scales)[kRowsOfThread]) {
  const int lanes = box_columns / t.kColumns, lane = t.lane % lanes, mine = lane % kRowsOfThread;
  u32 most[kRowsOfThread];
#pragma unroll
  for (int r = 0; r < kRowsOfThread; ++r)
    most[r] = bits_of_f32<X>(larger_bits(0, v.at[r / TilePlace::kRows][r % TilePlace::kRows]));
  u32 bits = largest_of_own_row(most, mine);
  if (lanes > kRowsOfThread) bits = max(bits, __shfl_xor_sync(0xffffffffu, bits, kRowsOfThread));
  const BoxScale s = scale_of(bits);
#pragma unroll
  for (int r = 0; r < kRowsOfThread; ++r) scales[r] = __shfl_sync(0xffffffffu, s.scale, r, kRowsOfThread);
  // Lanes after the last column also write: their box begins inside.
  const int row = t.row_in_tile(mine / t.kRows, mine % t.kRows), first = (t.lane - lane) * t.kColumns;
  if (lane < kRowsOfThread && row < t.rows_left && first < t.columns_left)
    to.scale_inv[(t.row + row) * to.pitch + box_at(t.column, first, box_columns)] = s.scale_inv;
}

// The same for boxes of fewer lanes too.
template <class X, class ScaleOf>
__device__ inline void row_scales(const TilePlace& t, const TileValues<X>& v, int box_columns, const ScalePlace& to,
                                  ScaleOf&& scale_of, float (&scales)[kRowsOfThread]) {
  const int lanes = box_columns / t.kColumns;
  if (lanes >= kRowsOfThread) return row_scales_by_lanes(t, v, box_columns, to, scale_of, scales);
#pragma unroll
  for (int r = 0; r < kRowsOfThread; ++r) {
    const int k = r / t.kRows, i = r % t.kRows;
    const BoxScale s = scale_of(largest_of_lanes(bits_of_f32<X>(larger_bits(0, v.at[k][i])), lanes));
    scales[r] = s.scale;
    if (t.lane % lanes == 0 && t.has(k, i))
      to.scale_inv[(t.row + t.row_in_tile(k, i)) * to.pitch + box_at(t.column, t.column_in_tile(), box_columns)] =
          s.scale_inv;
  }
}

// amax of the thread's columns over its rows of part k, or over all its rows.
template <bool kWhole, class X>
__device__ inline void largest_of_columns(const TileValues<X>& v, int k, u32 (&most)[TilePlace::kColumns]) {
  constexpr int kWords = TilePlace::kColumns * int(sizeof(X)) / 4, kEach = 4 / int(sizeof(X));
  u32 words[kWords] = {};
#pragma unroll
  for (int i = 0; i < TilePlace::kRows * (kWhole ? TilePlace::kParts : 1); ++i) {
    u32 here[kWords];
    memcpy(here, v.at[kWhole ? i / TilePlace::kRows : k][i % TilePlace::kRows].words, sizeof here);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const u32 one[1] = {here[w]};
      words[w] = larger_bits<X>(words[w], one);
    }
  }
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    if constexpr (kWhole) words[w] = larger_of_pairs<X>(words[w], __shfl_xor_sync(0xffffffffu, words[w], 16));
    most[kEach * w] = kEach == 2 ? words[w] << 16 : words[w];
    if constexpr (kEach == 2) most[kEach * w + 1] = words[w] & 0xffff0000u;
  }
}

// amax of each box's columns over the rows of a part -> parts [.., n]. A row of the tile has n boxes. kWhole: a box has
// all rows of the tile, and a part has those of a warp. Otherwise a part has 4 rows.
template <BoxShape kShape, bool kWhole, class X>
__device__ void amax_of_parts(const TilePlace& t, const TileValues<X>& v, int n, u32* parts) {
#pragma unroll
  for (int k = 0; k < (kWhole ? 1 : t.kParts); ++k) {
    u32* part = parts + (kWhole ? t.group / 2 : k * 16 + t.group) * n;
    const bool writes = !kWhole || t.group % 2 == 0;
    if constexpr (kShape == BoxShape::column) {
      u32 most[t.kColumns];
      largest_of_columns<kWhole>(v, k, most);
#pragma unroll
      for (int e = 0; e < t.kColumns; e += 4)
        if (writes)
          *reinterpret_cast<uint4*>(part + t.column_in_tile() + e) =
              make_uint4(most[e], most[e + 1], most[e + 2], most[e + 3]);
    } else {
      u32 most = 0;
#pragma unroll
      for (int i = 0; i < t.kRows * (kWhole ? t.kParts : 1); ++i)
        most = larger_bits(most, v.at[kWhole ? i / t.kRows : k][i % t.kRows]);
      const int lanes = 16 / n;
      most = largest_of_lanes(bits_of_f32<X>(most), lanes);
      if constexpr (kWhole) most = max(most, __shfl_xor_sync(0xffffffffu, most, 16));
      if (writes && t.lane % lanes == 0) part[t.lane / lanes] = most;
    }
  }
}

// parts -> scales [128 / box_rows, n], in shared memory.
template <bool kWhole, class ScaleOf>
__device__ inline void tall_scales(const TilePlace& t, int box_rows, int box_columns, const u32* parts,
                                   const ScalePlace& to, ScaleOf&& scale_of, float* scales) {
  const int n = t.kTile / box_columns, height = kWhole ? t.kThreads / 32 : box_rows / t.kRows,
            boxes = (kWhole ? 1 : t.kTile / box_rows) * n;
  for (int id = threadIdx.x; id < boxes; id += t.kThreads) {
    const int down = kWhole ? 0 : id / n, along = kWhole ? id : id % n;
    u32 most = 0;
    for (int g = 0; g < height; ++g) most = max(most, parts[(down * height + g) * n + along]);
    const BoxScale s = scale_of(most);
    const int row = down * box_rows, column = along * box_columns;
    scales[id] = s.scale;
    if (row < t.rows_left && column < t.columns_left)
      to.scale_inv[box_at(t.row, row, box_rows) * to.pitch + box_at(t.column, column, box_columns)] = s.scale_inv;
  }
}

// scale_of() of any rule.
__device__ inline auto scale_by_rule(const BoxTileArgs& a) {
  return [rule = a.rule, of_tensor = a.p.amax ? *a.p.amax : 0](u32 bits) {
    return scale_of(rule, amax_of_bits(bits), of_tensor, 0);
  };
}

template <CodeKind kFormat, BoxShape kShape, bool kWhole, bool kCounts, class X>
__device__ inline void encode_tall(const BoxTileArgs& a, const TilePlace& t, const TileValues<X>& v, const TileOut& out,
                                   const ScalePlace& to, u32* turned, float* shared_scales, CastLosses& losses) {
  const int width = kShape == BoxShape::column ? 1 : int(a.tiles.box_columns), n = t.kTile / width;
  amax_of_parts<kShape, kWhole>(t, v, n, turned);
  __syncthreads();
  tall_scales<kWhole>(t, int(a.tiles.box_rows), width, turned, to, scale_by_rule(a), shared_scales);
  __syncthreads();
  constexpr int kEach = kShape == BoxShape::column ? t.kColumns : 1;
  __align__(16) float scales[kWhole ? 1 : t.kParts][kEach];  // of the thread's columns
#pragma unroll
  for (int k = 0; k < (kWhole ? 1 : t.kParts); ++k) {
    const int box_row = kWhole ? 0 : (k * 16 + t.group) * t.kRows / int(a.tiles.box_rows);
    const float* from = shared_scales + box_row * n;
    if constexpr (kEach == 1) {
      scales[k][0] = from[t.column_in_tile() / width];
    } else {
#pragma unroll
      for (int e = 0; e < kEach; e += 4)
        *reinterpret_cast<float4*>(&scales[k][e]) = *reinterpret_cast<const float4*>(from + t.column_in_tile() + e);
    }
  }
  encode_tile<kFormat, kCounts>(
      v, t, out, turned, [&](int k, int, int e) { return scales[kWhole ? 0 : k][e % kEach]; }, losses);
}

}  // namespace megalith::cuda
