// The transpose of a matrix of codes (ops/quantize.h).
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

// Rows and columns of x as a matrix: the products of its first `split` dims and of its other dims.
inline std::pair<i64, i64> matrix_of(const Shape& shape, int split) {
  i64 rows = 1, columns = 1;
  for (size_t d = 0; d < shape.size(); ++d) (int(d) < split ? rows : columns) *= shape[d];
  return {rows, columns};
}

// The product of the first `kept` dims, and the other dims.
inline std::pair<i64, Shape> layers_of(const Shape& shape, int kept) {
  i64 layers = 1;
  for (int d = 0; d < kept; ++d) layers *= shape[size_t(d)];
  return {layers, Shape(shape.begin() + kept, shape.end())};
}

// The new index of each of n numbers after [n / parts, parts] is transposed to [parts, n / parts].
inline std::vector<i64> places_apart(i64 n, i64 parts) {
  std::vector<i64> out(static_cast<size_t>(n));
  for (i64 i = 0; i < n; ++i) out[size_t(i)] = i % parts * (n / parts) + i / parts;
  return out;
}

// Transposes [rows, columns] to [columns, rows], in tiles that fit in the cache. Rows and columns may alternate between
// several parts. The result has the parts one after another.
inline void transpose_codes(const u8* x, i64 rows, i64 columns, u8* y, i64 row_parts = 1, i64 column_parts = 1) {
  constexpr i64 kTile = 64;
  const std::vector<i64> row_at = places_apart(rows, row_parts), column_at = places_apart(columns, column_parts);
  parallel_for((columns + kTile - 1) / kTile, 1, [&](i64 tile) {
    const i64 begin = tile * kTile, end = std::min(columns, begin + kTile);
    for (i64 top = 0; top < rows; top += kTile)
      for (i64 c = begin; c < end; ++c) {
        u8* to = y + column_at[size_t(c)] * rows;
        for (i64 r = top; r < std::min(rows, top + kTile); ++r) to[row_at[size_t(r)]] = x[r * columns + c];
      }
  });
}

}  // namespace megalith::cpu
