// y [tokens, h] = x * logistic(g) or x * g for each token, and its gradient; f32 or bf16, g f32.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct TokenGateLaunch {
  bool logistic;
  DType dtype;
  i64 tokens, h;
};
void launch_token_gate(const TokenGateLaunch& l, const void* x, const float* g, void* y, cudaStream_t stream);

// dx may be dy or x.
struct TokenGateGradBuffers {
  const void *dy, *x;
  const float* g;
  void* dx;
  float* dg;
};
void launch_token_gate_grad(const TokenGateLaunch& l, const TokenGateGradBuffers& b, cudaStream_t stream);

}  // namespace megalith::cuda
