// ops/expert_capacity.h in f32: a block for each expert.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct CapacityLaunch {
  i64 tokens;
  int topk, experts;
  i64 capacity;
  bool by_weight;
};
struct CapacityArrays {
  const float* p;
  const i32* choice;
  float* p_out;
  i32* choice_out;
  i32* lists;  // the workspace: [experts, tokens], the entries of each expert
};
void launch_expert_capacity(const CapacityLaunch& l, const CapacityArrays& a, cudaStream_t stream);
void launch_expert_capacity_grad(i64 n, const float* dp, const i32* choice, float* out, cudaStream_t stream);

}  // namespace megalith::cuda
