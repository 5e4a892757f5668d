// y = act(x) and dx = dy act'(x), f32 or bf16, n elements.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

enum class ActKind { gelu, gelu_tanh, squared_relu };
struct ActivateLaunch {
  ActKind act;
  DType dtype;
  i64 n;
};
void launch_activate(const ActivateLaunch& l, const void* x, void* y, cudaStream_t stream);
// y: the forward's result once more, or null. dx may be dy or x, and y the other.
struct ActivateGradBuffers {
  const void *dy, *x;
  void *dx, *y;
};
void launch_activate_grad(const ActivateLaunch& l, const ActivateGradBuffers& b, cudaStream_t stream);

}  // namespace megalith::cuda
