// y = k * x. x and y have the given element types: f32, f64 or bf16. n elements.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct ScaleLaunch {
  DType from, to;
  double k;
  i64 n;
};
void launch(const ScaleLaunch& l, const void* x, void* y, cudaStream_t stream);

}  // namespace megalith::cuda
