// y [tokens, h] = x * logistic(g) of each token, and its gradient; f32 or bf16, g f32.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct LogisticGateLaunch {
  DType dtype;
  i64 tokens, h;
};
void launch_logistic_gate(const LogisticGateLaunch& l, const void* x, const float* g, void* y, cudaStream_t stream);

// dx may be dy or x.
struct LogisticGateGradBuffers {
  const void *dy, *x;
  const float* g;
  void* dx;
  float* dg;
};
void launch_logistic_gate_grad(const LogisticGateLaunch& l, const LogisticGateGradBuffers& b, cudaStream_t stream);

}  // namespace megalith::cuda
