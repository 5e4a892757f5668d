// ops/route.h in f32: a warp for each token.
#pragma once
#include "exec/cuda/device.h"
#include "ops/router_score.h"

namespace megalith::cuda {

struct RouteLaunch {
  static constexpr int kMostExperts = 1024, kMostChosen = 64, kMostGroups = 32;
  RouterScore score;
  bool pre_softmax, bias, by;
  i64 tokens;
  int experts, topk, groups, group_topk, group_best;
  float scaling;
  // p is the softmax of the chosen logits; otherwise their scores over the sum of these.
  constexpr bool over_chosen() const { return score == RouterScore::softmax && !pre_softmax; }
  constexpr bool over_sum() const { return score != RouterScore::softmax && topk > 1; }
};

struct RouteArrays {
  const float *z, *add;  // add: bias [e], or by [t,e]; may be null
  float* p;
  i32* choice;
};
void launch_route(const RouteLaunch& l, const RouteArrays& a, cudaStream_t stream);

struct RouteGradArrays {
  const float *dp, *z;
  const i32* choice;
  float* dz;
};
void launch_route_grad(const RouteLaunch& l, const RouteGradArrays& a, cudaStream_t stream);

}  // namespace megalith::cuda
