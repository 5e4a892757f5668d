// A tile of 128 x 128 values, 256 threads: each has 8 neighbouring columns of 2 x 4 neighbouring rows. 16 lanes have
// 256 bytes of a row of bf16. Codes of 4 rows of a column are one word, which goes through shared memory. So 8
// lanes store 128 bytes of a row of the transpose. The word of rows w and column c lies at c * 32 + (w ^ 2 * (c / 8)):
// then neither the writing nor the reading lanes meet in a bank.
#pragma once
#include "exec/cuda/kernels/quantize/codes.cuh"

namespace megalith::cuda {

struct TilePlace {
  static constexpr int kTile = 128, kThreads = 256, kColumns = 8, kRows = 4, kParts = 2, kGroup = 8;
  i64 row, column;  // of the tile's first value, in its matrix
  int lane = threadIdx.x % 16, group = threadIdx.x / 16;

  // Tiles of kGroup rows of tiles stand behind one another: so the transpose is written in longer pieces.
  __device__ TilePlace(i64 tile, i64 rows, i64 columns) {
    const i64 down = (rows + kTile - 1) / kTile, across = (columns + kTile - 1) / kTile;
    const i64 band = tile / (kGroup * across), rest = tile % (kGroup * across);
    const i64 height = min(i64(kGroup), down - band * kGroup);
    row = (band * kGroup + rest % height) * kTile, column = rest / height * kTile;
  }
  __device__ int row_in_tile(int part, int i) const { return (part * 16 + group) * kRows + i; }
  __device__ int column_in_tile() const { return lane * kColumns; }
};

inline i64 tiles_of(i64 rows, i64 columns) {
  constexpr i64 kTile = TilePlace::kTile;
  return (rows + kTile - 1) / kTile * ((columns + kTile - 1) / kTile);
}

template <class X>
struct TileValues {
  using Values = Pack<X, TilePlace::kColumns>;
  Values at[TilePlace::kParts][TilePlace::kRows];  // 0 outside the matrix

  __device__ TileValues(const X* x, const TilePlace& t, i64 rows, i64 columns) {
    const i64 column = t.column + t.column_in_tile();
#pragma unroll
    for (int k = 0; k < t.kParts; ++k)
#pragma unroll
      for (int i = 0; i < t.kRows; ++i) {
        const i64 row = t.row + t.row_in_tile(k, i);
        at[k][i] =
            row < rows && column < columns ? load_pack<TilePlace::kColumns>(x + row * columns + column) : Values{};
      }
  }
};

// 4 words of 4 bytes as a matrix, transposed.
__device__ inline void turn_bytes(u32 (&w)[4]) {
  const u32 low01 = __byte_perm(w[0], w[1], 0x5140), high01 = __byte_perm(w[0], w[1], 0x7362);
  const u32 low23 = __byte_perm(w[2], w[3], 0x5140), high23 = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(low01, low23, 0x5410), w[1] = __byte_perm(low01, low23, 0x7632);
  w[2] = __byte_perm(high01, high23, 0x5410), w[3] = __byte_perm(high01, high23, 0x7632);
}

// Where codes go: of the tile's matrix, `rows` of the `all` rows of the whole.
struct TileOut {
  u8 *codes, *codes_t;  // of the matrix's first row; null: not wanted
  i64 rows, columns, all;
};

// scale(part, i, e): of a value of this thread. turned: shared, 128 x 32 words.
template <CodeKind kFormat, class X, class Scale>
__device__ inline void encode_tile(const TileValues<X>& v, const TilePlace& t, const TileOut& out, u32* turned,
                                   Scale&& scale) {
  const i64 column = t.column + t.column_in_tile();
#pragma unroll
  for (int k = 0; k < t.kParts; ++k) {
    u32 halves[2][t.kRows];
#pragma unroll
    for (int i = 0; i < t.kRows; ++i) {
      const Numbers<float, TilePlace::kColumns> n = unpack<float>(v.at[k][i]);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float* x = n.x + 4 * h;
        halves[h][i] = encode_two<kFormat>(x[0] * scale(k, i, 4 * h), x[1] * scale(k, i, 4 * h + 1)) |
                       encode_two<kFormat>(x[2] * scale(k, i, 4 * h + 2), x[3] * scale(k, i, 4 * h + 3)) << 16;
      }
      const i64 row = t.row + t.row_in_tile(k, i);
      if (out.codes && row < out.rows && column < out.columns)
        *reinterpret_cast<uint2*>(out.codes + row * out.columns + column) = make_uint2(halves[0][i], halves[1][i]);
    }
    if (!out.codes_t) continue;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      turn_bytes(halves[h]);
#pragma unroll
      for (int e = 0; e < 4; ++e)
        turned[(t.column_in_tile() + 4 * h + e) * 32 + ((k * 16 + t.group) ^ (2 * t.lane))] = halves[h][e];
    }
  }
}

// The transpose, behind encode_tile() and a barrier.
__device__ inline void store_turned(const TilePlace& t, const TileOut& out, const u32* turned) {
#pragma unroll
  for (int k = 0; k < t.kTile * 8 / t.kThreads; ++k) {
    const int id = k * t.kThreads + int(threadIdx.x), c = id / 8, chunk = id % 8, lane = c / t.kColumns;
    const i64 row = t.row + chunk * 16, column = t.column + c;
    if (row >= out.rows || column >= out.columns) continue;
    const uint4 w = reinterpret_cast<const uint4*>(turned)[c * 8 + (chunk ^ lane / 2)];
    *reinterpret_cast<uint4*>(out.codes_t + column * out.all + row) =
        lane % 2 == 0 ? w : make_uint4(w.z, w.w, w.x, w.y);
  }
}

}  // namespace megalith::cuda
