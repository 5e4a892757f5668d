// y = x / max(|x|, eps) for each of `stack` blocks of n elements, f32 or bf16. Pointers must be multiples of 16 bytes.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda_needs/squares.h"

namespace megalith::cuda {

struct NormalizeLaunch {
  DType dtype;
  i64 stack, n;
  double eps;
};
i64 normalize_partials(const NormalizeLaunch& l);  // workspace, in f64 numbers
void launch(const NormalizeLaunch& l, const void* x, double* partials, void* y, cudaStream_t stream);

}  // namespace megalith::cuda
