// y [rows, f] = silu(gate) up and its gradient; a row of x [rows, 2, f] is gate, then up. f32 or bf16.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct SwigluLaunch {
  DType dtype;
  i64 rows, f;
};
void launch_swiglu(const SwigluLaunch& l, const void* x, void* y, cudaStream_t stream);
// dx may be x.
void launch_swiglu_grad(const SwigluLaunch& l, const void* dy, const void* x, void* dx, cudaStream_t stream);

}  // namespace megalith::cuda
