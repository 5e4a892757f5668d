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

using TileNumbers = Numbers<float, TilePlace::kColumns>;
// The codes of a thread's values in 4 rows, each row in two words.
using TileCodes = u32[TilePlace::kRows][2];

// Codes of a row. scale(e): the factor of a value.
template <CodeKind kFormat, bool kCounts, class Scale>
__device__ inline void encode_row(const TileNumbers& n, Scale&& scale, u32 (&codes)[2], CastLosses& losses) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float* x = n.x + 4 * h;
    const float scaled[4] = {x[0] * scale(4 * h), x[1] * scale(4 * h + 1), x[2] * scale(4 * h + 2),
                             x[3] * scale(4 * h + 3)};
    codes[h] = encode_four<kFormat>(scaled);
    if constexpr (kCounts) add_losses<kFormat>(x, scaled, codes[h], losses);
  }
}
__device__ inline void store_codes(const TileCodes& codes, int k, const TilePlace& t, const TileOut& out) {
  u8* to = out.codes + (t.row + t.row_in_tile(0, 0)) * out.pitch + t.column + t.column_in_tile();
#pragma unroll
  for (int i = 0; i < t.kRows; ++i)
    if (t.has(k, i))
      *reinterpret_cast<uint2*>(to + t.row_in_tile_from_first(k, i) * out.pitch) = make_uint2(codes[i][0], codes[i][1]);
}
// turned: shared memory, 128 x 32 words.
__device__ inline void turn_codes(const TileCodes& codes, int k, const TilePlace& t, u32* turned) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    u32 words[4] = {codes[0][h], codes[1][h], codes[2][h], codes[3][h]};
    turn_bytes(words);
#pragma unroll
    for (int e = 0; e < 4; ++e)
      turned[(t.column_in_tile() + 4 * h + e) * 32 + ((k * 16 + t.group) ^ (2 * t.lane))] = words[e];
  }
}

// scale(part, i, e): scale of a value of this thread. losses: counts, if kCounts. rows: of part k.
template <CodeKind kFormat, bool kCounts, class X, class Scale>
__device__ inline void encode_part(const TilePack<X> (&rows)[TilePlace::kRows], int k, const TilePlace& t,
                                   const TileOut& out, u32* turned, Scale&& scale, CastLosses& losses) {
  TileCodes codes;
#pragma unroll
  for (int i = 0; i < t.kRows; ++i)
    encode_row<kFormat, kCounts>(
        unpack<float>(rows[i]), [&](int e) { return scale(k, i, e); }, codes[i], losses);
  if (out.codes) store_codes(codes, k, t, out);
  if (out.codes_t) turn_codes(codes, k, t, turned);
}

template <CodeKind kFormat, bool kCounts, class X, class Scale>
__device__ inline void encode_tile(const TileValues<X>& v, const TilePlace& t, const TileOut& out, u32* turned,
                                   Scale&& scale, CastLosses& losses) {
#pragma unroll
  for (int k = 0; k < t.kParts; ++k) encode_part<kFormat, kCounts>(v.at[k], k, t, out, turned, scale, losses);
}

// Stores the transpose, after encode_tile() and a barrier.
__device__ inline void store_turned(const TilePlace& t, const TileOut& out, const u32* turned) {
  constexpr int kColumns = t.kThreads / 8;  // that the block stores at once
  const int first = int(threadIdx.x) / 8, chunk = int(threadIdx.x) % 8;
  u8* to = out.codes_t + (t.column + first) * out.all + t.row + chunk * 16;
#pragma unroll
  for (int k = 0; k < t.kTile / kColumns; ++k) {
    const int c = k * kColumns + first, lane = c / t.kColumns;
    if (chunk * 16 >= t.rows_left || c >= t.columns_left) continue;
    const uint4 w = reinterpret_cast<const uint4*>(turned)[c * 8 + (chunk ^ lane / 2)];
    *reinterpret_cast<uint4*>(to) = lane % 2 == 0 ? w : make_uint4(w.z, w.w, w.x, w.y);
    to += kColumns * out.all;
  }
}

}  // namespace megalith::cuda
