// A tile of 128 x 128 values and 256 threads: each has 8 consecutive columns of 2 x 4 consecutive rows. 16 lanes have
// 256 bytes of a row of bf16. The codes of 4 rows of a column are one word, which goes through shared memory. So 8
// lanes store 128 bytes of a row of the transpose. The word of rows w and column c is at `c * 32 + (w ^ 2 * (c / 8))`.
// So neither writing nor reading lanes have bank conflicts.
#pragma once
#include "exec/cuda/kernels/quantize/codes.cuh"

namespace megalith::cuda {

struct TilePlace {
  static constexpr int kTile = 128, kThreads = 256, kColumns = 8, kRows = 4, kParts = 2, kGroup = 8;
  i64 row, column;              // of the tile's first value, in its matrix
  int rows_left, columns_left;  // of the matrix, from there on: at most the tile's
  int lane = threadIdx.x % 16, group = threadIdx.x / 16;

  // Tiles of kGroup rows of tiles come one after another, so the transpose is written in longer pieces.
  __device__ TilePlace(u32 tile, i64 rows, i64 columns) {
    const u32 down = u32((rows + kTile - 1) / kTile), across = u32((columns + kTile - 1) / kTile);
    const u32 band = tile / (kGroup * across), rest = tile % (kGroup * across);
    const u32 height = min(u32(kGroup), down - band * kGroup);
    row = i64(band * kGroup + rest % height) * kTile, column = i64(rest / height) * kTile;
    rows_left = int(min(i64(kTile), rows - row)), columns_left = int(min(i64(kTile), columns - column));
  }
  __device__ bool has(int part, int i) const {
    return row_in_tile(part, i) < rows_left && column_in_tile() < columns_left;
  }
  __device__ int row_in_tile(int part, int i) const { return (part * 16 + group) * kRows + i; }
  __device__ static constexpr int row_in_tile_from_first(int part, int i) { return part * 16 * kRows + i; }
  __device__ int column_in_tile() const { return lane * kColumns; }
};

inline i64 tiles_of(i64 rows, i64 columns) {
  constexpr i64 kTile = TilePlace::kTile;
  return (rows + kTile - 1) / kTile * ((columns + kTile - 1) / kTile);
}

// A thread's values of one row of the tile; zeros outside the matrix.
template <class X>
using TilePack = Pack<X, TilePlace::kColumns>;

// Rows of x are `pitch` apart.
template <class X>
__device__ inline TilePack<X> load_tile_pack(const X* x, const TilePlace& t, i64 pitch, int k, int i) {
  x += (t.row + t.row_in_tile(0, 0)) * pitch + t.column + t.column_in_tile();
  return t.has(k, i) ? load_pack<TilePlace::kColumns>(x + t.row_in_tile_from_first(k, i) * pitch) : TilePack<X>{};
}

template <class X>
struct TileValues {
  TilePack<X> at[TilePlace::kParts][TilePlace::kRows];

  TileValues() = default;
  __device__ TileValues(const X* x, const TilePlace& t, i64 pitch) {
#pragma unroll
    for (int k = 0; k < t.kParts; ++k)
#pragma unroll
      for (int i = 0; i < t.kRows; ++i) at[k][i] = load_tile_pack(x, t, pitch, k, i);
  }

  // The bits of the largest |x|.
  __device__ u32 largest() const {
    u32 most = 0;
#pragma unroll
    for (int k = 0; k < TilePlace::kParts; ++k)
#pragma unroll
      for (int i = 0; i < TilePlace::kRows; ++i) most = larger_bits(most, at[k][i]);
    return bits_of_f32<X>(most);
  }
};

// Transposes 4 words of 4 bytes as a matrix.
__device__ inline void turn_bytes(u32 (&w)[4]) {
  const u32 low01 = __byte_perm(w[0], w[1], 0x5140), high01 = __byte_perm(w[0], w[1], 0x7362);
  const u32 low23 = __byte_perm(w[2], w[3], 0x5140), high23 = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(low01, low23, 0x5410), w[1] = __byte_perm(low01, low23, 0x7632);
  w[2] = __byte_perm(high01, high23, 0x5410), w[3] = __byte_perm(high01, high23, 0x7632);
}

// The destination of codes: those of the tile's matrix, in rows `pitch` apart; those of the transpose, `all` apart.
struct TileOut {
  u8 *codes, *codes_t;  // of the matrix's first row; nullptr: not needed
  i64 pitch, all;
};

// scale(part, i, e): scale of a value of this thread. turned: shared memory, 128 x 32 words. losses: counts, if
// kCounts. rows: of part k.
template <CodeKind kFormat, bool kCounts, class X, class Scale>
__device__ inline void encode_part(const TilePack<X> (&rows)[TilePlace::kRows], int k, const TilePlace& t,
                                   const TileOut& out, u32* turned, Scale&& scale, CastLosses& losses) {
  u8* codes = out.codes + (t.row + t.row_in_tile(0, 0)) * out.pitch + t.column + t.column_in_tile();
  u32 halves[2][t.kRows];
#pragma unroll
  for (int i = 0; i < t.kRows; ++i) {
    const Numbers<float, TilePlace::kColumns> n = unpack<float>(rows[i]);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float* x = n.x + 4 * h;
      const float scaled[4] = {x[0] * scale(k, i, 4 * h), x[1] * scale(k, i, 4 * h + 1), x[2] * scale(k, i, 4 * h + 2),
                               x[3] * scale(k, i, 4 * h + 3)};
      halves[h][i] = encode_four<kFormat>(scaled);
      if constexpr (kCounts) add_losses<kFormat>(x, scaled, halves[h][i], losses);
    }
    if (out.codes && t.has(k, i))
      *reinterpret_cast<uint2*>(codes + t.row_in_tile_from_first(k, i) * out.pitch) =
          make_uint2(halves[0][i], halves[1][i]);
  }
  if (!out.codes_t) return;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    turn_bytes(halves[h]);
#pragma unroll
    for (int e = 0; e < 4; ++e)
      turned[(t.column_in_tile() + 4 * h + e) * 32 + ((k * 16 + t.group) ^ (2 * t.lane))] = halves[h][e];
  }
}

template <CodeKind kFormat, bool kCounts, class X, class Scale>
__device__ inline void encode_tile(const TileValues<X>& v, const TilePlace& t, const TileOut& out, u32* turned,
                                   Scale&& scale, CastLosses& losses) {
#pragma unroll
  for (int k = 0; k < t.kParts; ++k) encode_part<kFormat, kCounts>(v.at[k], k, t, out, turned, scale, losses);
}

// Stores the transpose, after encode_tile() and a barrier.
__device__ inline void store_turned(const TilePlace& t, const TileOut& out, const u32* turned) {
#pragma unroll
  for (int k = 0; k < t.kTile * 8 / t.kThreads; ++k) {
    const int id = k * t.kThreads + int(threadIdx.x), c = id / 8, chunk = id % 8, lane = c / t.kColumns;
    if (chunk * 16 >= t.rows_left || c >= t.columns_left) continue;
    const uint4 w = reinterpret_cast<const uint4*>(turned)[c * 8 + (chunk ^ lane / 2)];
    *reinterpret_cast<uint4*>(out.codes_t + (t.column + c) * out.all + t.row + chunk * 16) =
        lane % 2 == 0 ? w : make_uint4(w.z, w.w, w.x, w.y);
  }
}

}  // namespace megalith::cuda
