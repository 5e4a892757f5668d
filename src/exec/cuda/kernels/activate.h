// y = act(x) and dx = dy act'(x), f32 or bf16, n elements.
#pragma once
#include "exec/cuda/kernels/sum.h"

namespace megalith::cuda {

enum class ActKind { gelu, gelu_tanh, squared_relu, tanh, relu };
struct ActivateLaunch {
  ActKind act;
  DType dtype;
  i64 n;
};
void launch_activate(const ActivateLaunch& l, const void* x, void* y, cudaStream_t stream);
// y: the forward's result again, or null. dx may be dy or x, and y the other.
struct ActivateGradBuffers {
  const void *dy, *x;
  void *dx, *y;
};
void launch_activate_grad(const ActivateLaunch& l, const ActivateGradBuffers& b, cudaStream_t stream);

// The same for rows, and the sums of dx over them. `sums` must be by columns, with one loop, packed. `workspace`: of
// sums.workspace() bytes.
void launch_activate_grad_bias(const ActivateLaunch& l, const SumLaunch& sums, const ActivateGradBuffers& b, void* bias,
                               void* workspace, cudaStream_t stream);

}  // namespace megalith::cuda
