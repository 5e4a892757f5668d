// The gradient of a bias, fused into the gradient of the next op.
#pragma once
#include "base/threads.h"
#include "exec/cpu/kernel.h"

namespace megalith::cpu {

// Sums the columns of dx [rows, columns] in f64, just after dx was written.
template <class T>
void sum_rows(const T* dx, i64 rows, i64 columns, accum_t<T>* bias) {
  parallel_ranges(columns, 64, [&](i64 begin, i64 end) {
    std::vector<double> sums(size_t(end - begin));
    for (i64 r = 0; r < rows; ++r)
      for (i64 c = begin; c < end; ++c) sums[size_t(c - begin)] += double(dx[r * columns + c]);
    for (i64 c = begin; c < end; ++c) bias[c] = accum_t<T>(sums[size_t(c - begin)]);
  });
}

// Runs `gradient`, then writes the column sums of its first result, dx, to result `out`.
inline Kernel with_bias(Kernel gradient, DType dtype, const Shape& dx, int out) {
  const i64 columns = dx.back(), rows = columns == 0 ? 0 : count(dx) / columns;
  return {gradient.workspace, [gradient, dtype, rows, columns, out](const Args& a) {
            gradient.run(a);
            dispatch_float(dtype, [&]<class T>() { sum_rows(a.out<T>(0), rows, columns, a.out<accum_t<T>>(out)); });
          }};
}

}  // namespace megalith::cpu
