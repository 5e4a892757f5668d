// Shared code of the norms: rows, weights that are converted once per run, and sums over all rows (dw, dc). The sums do
// not depend on the number of threads. The number of rows determines a split into at most 64 chunks. Each chunk sums
// its rows in order, then the chunks are added in order.
#pragma once
#include "base/threads.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/vector.h"

namespace megalith::cpu {

struct NormShape {
  i64 rows = 1, h = 0, hp = 0;  // hp: h rounded up to whole cache lines
  i64 chunk, chunks;            // chunk: rows of a chunk

  explicit NormShape(const Shape& x) : h(x.back()), hp((h + 15) / 16 * 16) {
    for (size_t i = 0; i + 1 < x.size(); ++i) rows *= x[i];
    chunk = std::max<i64>(32, (rows + 63) / 64);
    chunks = (rows + chunk - 1) / chunk;
  }
  i64 grain() const { return std::max<i64>(1, 2048 / std::max<i64>(1, h)); }
};

// Widens a vector [h] of any float type.
template <class A>
void widen(DType dtype, const std::byte* from, i64 n, A* to) {
  dispatch_float(dtype, [&]<class T>() {
    for (i64 i = 0; i < n; ++i) to[i] = A(reinterpret_cast<const T*>(from)[i]);
  });
}

// Adds the chunks' partial sums [chunks][stride] in order. Writes a vector [h] of any float type.
template <class A>
void add_chunks(const NormShape& shape, const A* partial, i64 stride, DType dtype, std::byte* to) {
  dispatch_float(dtype, [&]<class T>() {
    parallel_ranges(shape.h, 1024, [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) {
        A sum = 0;
        for (i64 c = 0; c < shape.chunks; ++c) sum += partial[c * stride + i];
        reinterpret_cast<T*>(to)[i] = T(sum);
      }
    });
  });
}

}  // namespace megalith::cpu
