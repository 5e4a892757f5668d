// y = a / b for two numbers of one type, f32 or f64; 0 if b is 0.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct QuotientLaunch {
  DType dtype;
};
void launch(const QuotientLaunch& l, const void* a, const void* b, void* y, cudaStream_t stream);

}  // namespace megalith::cuda
