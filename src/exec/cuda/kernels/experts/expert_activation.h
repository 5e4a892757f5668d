// y = act(u) w of experts' rows and its gradient (ops/expert_activation.h), f32 or bf16. *count, on the device, has
// the number of rows.
#pragma once
#include "exec/cuda/kernels/activate.h"
#include "exec/cuda/kernels/swiglu.h"

namespace megalith::cuda {

struct ExpertActivationLaunch {
  DType dtype;
  bool gated;  // a row of u is gate [f], then up [f]; else [f]
  GateKind gate;
  ActKind act;
  i64 bound, f;
};
void launch_expert_activation(const ExpertActivationLaunch& l, const i32* count, const void* u, const float* weights,
                              void* y, cudaStream_t stream);

// y: the forward's result again, or null. du may be u, and y dy.
struct ExpertActivationGradBuffers {
  const void *dy, *u;
  const float* weights;
  void* du;
  float* dweights;
  void* y;
};
void launch_expert_activation_grad(const ExpertActivationLaunch& l, const i32* count,
                                   const ExpertActivationGradBuffers& b, cudaStream_t stream);

}  // namespace megalith::cuda
