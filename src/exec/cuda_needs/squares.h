// Sums of squares: one f64 partial sum a block.
#pragma once
#include "base/dtype.h"

namespace megalith::cuda {

constexpr i64 kSquaresChunk = 32768;  // elements that a block squares
constexpr int kSquaresRows = 64;      // rows of a table, with or without a mark, that a block squares

inline i64 squares_partials(i64 n) { return (n + kSquaresChunk - 1) / kSquaresChunk; }
inline i64 marked_squares_partials(i64 rows) { return (rows + kSquaresRows - 1) / kSquaresRows; }

// For Normalize, which sums each matrix of a stack separately.
constexpr i64 kNormalizeChunk = 32768;
inline i64 stacked_partials(i64 stack, i64 n) { return stack * ((n + kNormalizeChunk - 1) / kNormalizeChunk); }

}  // namespace megalith::cuda
