// rounded_alibi of ops/attention.h on the GPU.
#pragma once
#include <cuda_bf16.h>

namespace megalith::cuda {

__device__ inline float rounded_alibi(float slope, int position) {
  const float in_bf16 = __bfloat162float(__float2bfloat16_rn(float(position)));
  return __bfloat162float(__float2bfloat16_rn(slope * in_bf16));
}

}  // namespace megalith::cuda
