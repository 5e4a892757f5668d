#include "exec/cuda/kernels/router/router_scores.h"

#include "exec/cuda/kernels/router/router_row.cuh"

namespace megalith::cuda {

namespace {

__global__ void __launch_bounds__(kRouterThreads)
    scores_kernel(const RouterRows r, RouterScore score, const float* z, float* q) {
  const i64 token = my_token();
  if (token >= r.tokens) return;
  z += token * r.experts, q += token * r.experts;
  if (score == RouterScore::softmax) {
    const WarpSoftmax s = warp_softmax(r.experts, [&](int i) { return z[i]; });
    for (int i = my_lane(); i < r.experts; i += 32) q[i] = s(z[i]);
    return;
  }
  float sum = 0;
  for (int i = my_lane(); i < r.experts; i += 32) sum += q[i] = score_of(score, z[i]);
  sum = warp_sum(sum) + float(kScoreSumEps);
  for (int i = my_lane(); i < r.experts; i += 32) q[i] /= sum;
}

__global__ void __launch_bounds__(kRouterThreads)
    scores_grad_kernel(const RouterRows r, RouterScore score, const float* dq, const float* z, float* dz) {
  const i64 token = my_token();
  if (token >= r.tokens) return;
  z += token * r.experts, dq += token * r.experts, dz += token * r.experts;
  float sum = 0, along = 0;
  if (score == RouterScore::softmax) {
    const WarpSoftmax s = warp_softmax(r.experts, [&](int i) { return z[i]; });
    for (int i = my_lane(); i < r.experts; i += 32) along += dq[i] * s(z[i]);
    along = warp_sum(along);
    for (int i = my_lane(); i < r.experts; i += 32) dz[i] = s(z[i]) * (dq[i] - along);
    return;
  }
  for (int i = my_lane(); i < r.experts; i += 32) {
    const float s = score_of(score, z[i]);
    sum += s, along += dq[i] * s;
  }
  sum = warp_sum(sum) + float(kScoreSumEps), along = warp_sum(along) / sum;
  for (int i = my_lane(); i < r.experts; i += 32)
    dz[i] = (dq[i] - along) / sum * slope_of(score, z[i], score_of(score, z[i]));
}

__global__ void __launch_bounds__(kRouterThreads) log_sum_exp_kernel(const RouterRows r, const float* z, float* l) {
  const i64 token = my_token();
  if (token >= r.tokens) return;
  z += token * r.experts;
  const WarpSoftmax s = warp_softmax(r.experts, [&](int i) { return z[i]; });
  if (my_lane() == 0) l[token] = s.m + logf(s.sum);
}

__global__ void __launch_bounds__(kRouterThreads)
    log_sum_exp_grad_kernel(const RouterRows r, const float* dl, const float* z, float* dz) {
  const i64 token = my_token();
  if (token >= r.tokens) return;
  z += token * r.experts, dz += token * r.experts;
  const WarpSoftmax s = warp_softmax(r.experts, [&](int i) { return z[i]; });
  for (int i = my_lane(); i < r.experts; i += 32) dz[i] = dl[token] * s(z[i]);
}

__global__ void __launch_bounds__(kRouterThreads)
    expert_map_kernel(const RouterRows r, int topk, const i32* choice, float* m) {
  const i64 token = my_token();
  if (token >= r.tokens) return;
  m += token * r.experts, choice += token * topk;
  for (int i = my_lane(); i < r.experts; i += 32) m[i] = 0;
  __syncwarp();
  for (int j = my_lane(); j < topk; j += 32)
    if (const i32 e = choice[j]; e >= 0 && e < r.experts) m[e] = 1;
}

}  // namespace

void launch_router_scores(const RouterRows& r, RouterScore score, const float* z, float* q, cudaStream_t stream) {
  if (r.tokens == 0) return;
  scores_kernel<<<router_blocks(r.tokens), kRouterThreads, 0, stream>>>(r, score, z, q);
  check_launch("[router_scores] launch");
}

void launch_router_scores_grad(const RouterRows& r, RouterScore score, const float* dq, const float* z, float* dz,
                               cudaStream_t stream) {
  if (r.tokens == 0) return;
  scores_grad_kernel<<<router_blocks(r.tokens), kRouterThreads, 0, stream>>>(r, score, dq, z, dz);
  check_launch("[router_scores_grad] launch");
}

void launch_log_sum_exp(const RouterRows& r, const float* z, float* l, cudaStream_t stream) {
  if (r.tokens == 0) return;
  log_sum_exp_kernel<<<router_blocks(r.tokens), kRouterThreads, 0, stream>>>(r, z, l);
  check_launch("[log_sum_exp] launch");
}

void launch_log_sum_exp_grad(const RouterRows& r, const float* dl, const float* z, float* dz, cudaStream_t stream) {
  if (r.tokens == 0) return;
  log_sum_exp_grad_kernel<<<router_blocks(r.tokens), kRouterThreads, 0, stream>>>(r, dl, z, dz);
  check_launch("[log_sum_exp_grad] launch");
}

void launch_expert_map(const RouterRows& r, int topk, const i32* choice, float* m, cudaStream_t stream) {
  if (r.tokens == 0) return;
  expert_map_kernel<<<router_blocks(r.tokens), kRouterThreads, 0, stream>>>(r, topk, choice, m);
  check_launch("[expert_map] launch");
}

}  // namespace megalith::cuda
