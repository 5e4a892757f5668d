// C (+)= A B for tiles that fit in the caches. B and C have rows of whole vectors. A is read one element at a time with
// any strides, so it may be a transpose. The inner kernel keeps `6 x 4` vectors of C in registers, or `6 x 2` if the
// CPU has few registers.
#pragma once
#include "exec/cpu/vector.h"

namespace megalith::cpu {

template <class T>
struct SmallGemm {
  const T* a;
  i64 a_row, a_col;  // strides of A in elements
  const T* b;
  i64 b_row;
  T* c;
  i64 c_row;
  i64 m, n, k;  // n in vectors
  bool add = true;
};

template <int rows, int columns, class T>
inline void gemm_block(const SmallGemm<T>& g, i64 i, i64 j) {
  constexpr int lanes = kLanes<T>;
  const T* a = g.a + i * g.a_row;
  const T* b = g.b + j * lanes;
  T* c = g.c + i * g.c_row + j * lanes;
  const i64 a_row = g.a_row, a_col = g.a_col, b_row = g.b_row, c_row = g.c_row;
  Vec<T> acc[rows][columns];
#pragma GCC unroll 8
  for (int y = 0; y < rows; ++y)
#pragma GCC unroll 4
    for (int x = 0; x < columns; ++x) acc[y][x] = g.add ? load(c + y * c_row + x * lanes) : Vec<T>{};
  for (i64 k = g.k; k > 0; --k, a += a_col, b += b_row) {
    Vec<T> bs[columns];
#pragma GCC unroll 4
    for (int x = 0; x < columns; ++x) bs[x] = load(b + x * lanes);
#pragma GCC unroll 8
    for (int y = 0; y < rows; ++y)
#pragma GCC unroll 4
      for (int x = 0; x < columns; ++x) acc[y][x] += a[y * a_row] * bs[x];
  }
#pragma GCC unroll 8
  for (int y = 0; y < rows; ++y)
#pragma GCC unroll 4
    for (int x = 0; x < columns; ++x) store(c + y * c_row + x * lanes, acc[y][x]);
}

template <int columns, class T>
void gemm_columns(const SmallGemm<T>& g, i64 j) {
  i64 i = 0;
  for (; i + 6 <= g.m; i += 6) gemm_block<6, columns>(g, i, j);
  for (; i + 4 <= g.m; i += 4) gemm_block<4, columns>(g, i, j);
  for (; i + 2 <= g.m; i += 2) gemm_block<2, columns>(g, i, j);
  for (; i < g.m; ++i) gemm_block<1, columns>(g, i, j);
}

template <class T>
void small_gemm(const SmallGemm<T>& g) {
  constexpr int wide = kVectorBytes == 64 ? 4 : 2;
  i64 j = 0;
  for (; j + wide <= g.n; j += wide) gemm_columns<wide>(g, j);
  if (wide == 4 && j + 3 == g.n) return gemm_columns<3>(g, j);
  if (wide == 4 && j + 2 == g.n) return gemm_columns<2>(g, j);
  if (j < g.n) gemm_columns<1>(g, j);
}

}  // namespace megalith::cpu
