// The transpose of a matrix of codes (ops/quantize.h).
#pragma once
#include <algorithm>
#include <utility>

#include "base/shape.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

// Rows and columns of x seen as a matrix: its first `split` dims, and the rest.
inline std::pair<i64, i64> matrix_of(const Shape& shape, int split) {
  i64 rows = 1, columns = 1;
  for (size_t d = 0; d < shape.size(); ++d) (int(d) < split ? rows : columns) *= shape[d];
  return {rows, columns};
}

// [rows, columns] -> [columns, rows], by tiles that stay in the cache.
inline void transpose_codes(const u8* x, i64 rows, i64 columns, u8* y) {
  constexpr i64 kTile = 64;
  parallel_for((columns + kTile - 1) / kTile, 1, [&](i64 tile) {
    const i64 begin = tile * kTile, end = std::min(columns, begin + kTile);
    for (i64 top = 0; top < rows; top += kTile)
      for (i64 c = begin; c < end; ++c)
        for (i64 r = top; r < std::min(rows, top + kTile); ++r) y[c * rows + r] = x[r * columns + c];
  });
}

}  // namespace megalith::cpu
