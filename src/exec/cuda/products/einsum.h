// Sums of products over any loops, for cases that the library's matrix product lacks: y[o] = sum over i of x[o,i]
// w[o,i], + plus[o], + bias[o mod bias_n]. Sums and products are f64. Also random numbers for measuring products.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

constexpr int kMaxEinsumLoops = 8;

struct EinsumLoops {
  int count = 0;
  i64 n = 1;  // total number of iterations
  i64 size[kMaxEinsumLoops] = {};
  i64 x[kMaxEinsumLoops] = {}, w[kMaxEinsumLoops] = {}, y[kMaxEinsumLoops] = {};  // strides, in elements
};

struct EinsumLaunch {
  DType x, w, y;  // f32, bf16, f16 or f64
  EinsumLoops outer, inner;
  i64 bias_n = 1;
};
struct EinsumPointers {
  const void *x, *w;
  void* y;
  const void *plus = nullptr, *bias = nullptr;  // in y's type, or null; plus may be y
};
void launch(const EinsumLaunch& l, const EinsumPointers& p, cudaStream_t stream);

// n normally distributed numbers; the same seed gives the same numbers. f32, bf16, or codes scaled to use the whole
// format.
void fill_normal(void* x, DType dtype, i64 n, u32 seed, cudaStream_t stream);

}  // namespace megalith::cuda
