// Views of row-major matrices [rows, cols]: values, codes (one byte each), scales.
#pragma once
#include <span>

#include "base/dtype.h"

namespace megalith::quant {

template <class T>
struct Matrix {
  std::span<T> at;  // rows * cols
  i64 rows = 0, cols = 0;

  T& operator()(i64 r, i64 c) const { return at[size_t(r * cols + c)]; }
};

template <class T>
using In = Matrix<const T>;
template <class T>
using Out = Matrix<T>;

constexpr i64 blocks_of(i64 elements, i64 block) { return (elements + block - 1) / block; }

// Error if the result has other sizes.
template <class T>
void want_sizes(const char* what, const Matrix<T>& m, i64 rows, i64 cols) {
  check(m.rows == rows && m.cols == cols && i64(m.at.size()) == rows * cols, "{} is [{}, {}]: want [{}, {}]", what,
        m.rows, m.cols, rows, cols);
}

}  // namespace megalith::quant
