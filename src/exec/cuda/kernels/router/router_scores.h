// ops/router_scores.h in f32: a warp for each token. z, q, m [tokens, experts].
#pragma once
#include "exec/cuda/device.h"
#include "ops/router_score.h"

namespace megalith::cuda {

struct RouterRows {
  i64 tokens;
  int experts;
};
void launch_router_scores(const RouterRows& r, RouterScore score, const float* z, float* q, cudaStream_t stream);
void launch_router_scores_grad(const RouterRows& r, RouterScore score, const float* dq, const float* z, float* dz,
                               cudaStream_t stream);
void launch_log_sum_exp(const RouterRows& r, const float* z, float* l, cudaStream_t stream);
void launch_log_sum_exp_grad(const RouterRows& r, const float* dl, const float* z, float* dz, cudaStream_t stream);
void launch_expert_map(const RouterRows& r, int topk, const i32* choice, float* m, cudaStream_t stream);

}  // namespace megalith::cuda
