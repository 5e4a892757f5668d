// y [rows, f] = act(gate) up and its gradient; a row of x [rows, 2, f] is gate, then up. f32 or bf16.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

enum class GateKind : unsigned char { silu, gelu_tanh, quick_gelu };

struct SwigluLaunch {
  DType dtype;
  GateKind act;
  i64 rows, f;
};
// amax: of y, or null.
void launch_swiglu(const SwigluLaunch& l, const void* x, void* y, float* amax, cudaStream_t stream);
// y: the forward's result again, or null. amax: of dx, or null. dx may be x, and y dy.
struct SwigluGradBuffers {
  const void *dy, *x;
  void *dx, *y;
  float* amax;
};
void launch_swiglu_grad(const SwigluLaunch& l, const SwigluGradBuffers& b, cudaStream_t stream);

}  // namespace megalith::cuda
