// A warp chooses its token's experts one by one: each lane finds its best, then the warp finds the best of these. If
// groups are chosen first, lane g has group g. A token's numbers are in shared memory.
#include "exec/cuda/kernels/router/route.h"
#include "exec/cuda/kernels/router/router_row.cuh"

namespace megalith::cuda {

namespace {

// The shared memory of one warp.
struct RouteRoom {
  float z[RouteLaunch::kMostExperts], by[RouteLaunch::kMostExperts];
  int choice[RouteLaunch::kMostChosen];
};

// Larger values come first; of equal values the lower index.
__device__ inline u64 key_of(float x, int i) { return u64(ordered(x)) << 32 | (0xffffffffu - u32(i)); }
__device__ inline int number_of(u64 key) { return int(0xffffffffu - u32(key)); }

// The sum of the `best` largest of x[0..n), from the largest down.
__device__ inline float sum_of_largest(const float* x, int n, int best) {
  float sum = 0;
  u64 before = ~u64(0);
  for (int j = 0; j < best; ++j) {
    u64 most = 0;
    for (int i = 0; i < n; ++i)
      if (const u64 key = key_of(x[i], i); key < before && key > most) most = key;
    sum += x[number_of(most)], before = most;
  }
  return sum;
}

// A bit for each group whose experts may be chosen.
__device__ inline u32 choose_groups(const RouteLaunch& l, const float* by) {
  const int each = l.experts / l.groups, lane = my_lane();
  u64 key = lane < l.groups ? key_of(sum_of_largest(by + lane * each, each, l.group_best), lane) : 0;
  u32 out = 0;
  for (int j = 0; j < l.group_topk; ++j) {
    const int g = number_of(warp_max(key));
    out |= 1u << g;
    if (g == lane) key = 0;
  }
  return out;
}

// Sets bit v in `taken` for each chosen expert lane + 32 v. Their numbers, in ascending order, go to room.choice.
__device__ inline void choose_experts(const RouteLaunch& l, RouteRoom& room) {
  const int lane = my_lane(), each = l.groups ? l.experts / l.groups : 1;
  const u32 groups = l.groups ? choose_groups(l, room.by) : 0;
  u32 taken = 0;
  const auto best_of_mine = [&] {
    u64 best = 0;
    for (int i = lane, v = 0; i < l.experts; i += 32, ++v) {
      if (taken >> v & 1 || (l.groups && !(groups >> (i / each) & 1))) continue;
      best = max(best, key_of(room.by[i], i));
    }
    return best;
  };
  u64 mine = best_of_mine();
  for (int j = 0; j < l.topk; ++j) {
    const u64 best = warp_max(mine);
    if (best != mine || best == 0) continue;
    taken |= 1u << (number_of(best) / 32);
    mine = best_of_mine();
  }
  int before = 0;
  for (int first = 0, v = 0; first < l.experts; first += 32, ++v) {
    const u32 there = __ballot_sync(kAllLanes, taken >> v & 1);
    if (taken >> v & 1) room.choice[before + __popc(there & ((1u << lane) - 1))] = first + lane;
    before += __popc(there);
  }
  __syncwarp();
}

// The weights of slots lane and lane + 32 before scaling, of `x` chosen logits.
struct Weights {
  float p[2], sum;  // sum: the divisor of the scores
};
__device__ inline Weights weigh(const RouteLaunch& l, const WarpSoftmax& all, const float (&x)[2]) {
  const int lane = my_lane();
  Weights w{{0, 0}, 1};
  if (l.over_chosen()) {
    const WarpSoftmax s = warp_softmax(l.topk, [&](int j) { return x[j / 32]; });
    for (int h = 0; h < 2; ++h) w.p[h] = lane + 32 * h < l.topk ? s(x[h]) : 0;
    return w;
  }
  for (int h = 0; h < 2; ++h)
    if (lane + 32 * h < l.topk) w.p[h] = l.score == RouterScore::softmax ? all(x[h]) : score_of(l.score, x[h]);
  if (!l.over_sum()) return w;
  w.sum = warp_sum(w.p[0] + w.p[1]) + float(kScoreSumEps);
  for (float& p : w.p) p /= w.sum;
  return w;
}

__global__ void __launch_bounds__(kRouterThreads)
    route_kernel(const __grid_constant__ RouteLaunch l, const __grid_constant__ RouteArrays a) {
  __shared__ RouteRoom rooms[kRouterWarps];
  RouteRoom& room = rooms[threadIdx.x / 32];
  const i64 token = my_token();
  if (token >= l.tokens) return;
  const int lane = my_lane();
  const float* z = a.z + token * l.experts;
  WarpSoftmax all{};
  if (l.score == RouterScore::softmax && l.pre_softmax) all = warp_softmax(l.experts, [&](int i) { return z[i]; });
  for (int i = lane; i < l.experts; i += 32) {
    const float x = z[i];
    float by = l.over_chosen() ? x : l.score == RouterScore::softmax ? all(x) : score_of(l.score, x);
    if (l.bias) by += a.add[i];
    if (l.by) by = a.add[token * l.experts + i];
    room.z[i] = x, room.by[i] = by;
  }
  __syncwarp();
  choose_experts(l, room);
  float x[2] = {0, 0};
  for (int h = 0; h < 2; ++h)
    if (const int j = lane + 32 * h; j < l.topk) x[h] = room.z[room.choice[j]];
  const Weights w = weigh(l, all, x);
  for (int h = 0; h < 2; ++h)
    if (const int j = lane + 32 * h; j < l.topk) {
      a.p[token * l.topk + j] = w.p[h] * l.scaling;
      a.choice[token * l.topk + j] = room.choice[j];
    }
}

__global__ void __launch_bounds__(kRouterThreads)
    route_grad_kernel(const __grid_constant__ RouteLaunch l, const __grid_constant__ RouteGradArrays a) {
  __shared__ float rooms[kRouterWarps][RouteLaunch::kMostExperts];
  float* d = rooms[threadIdx.x / 32];
  const i64 token = my_token();
  if (token >= l.tokens) return;
  const int lane = my_lane();
  const float* z = a.z + token * l.experts;
  for (int i = lane; i < l.experts; i += 32) d[i] = 0;
  __syncwarp();
  const bool whole = l.score == RouterScore::softmax && l.pre_softmax;
  WarpSoftmax all{};
  if (whole) all = warp_softmax(l.experts, [&](int i) { return z[i]; });
  float x[2] = {0, 0}, dp[2] = {0, 0};
  int at[2] = {0, 0};
  for (int h = 0; h < 2; ++h)
    if (const int j = lane + 32 * h; j < l.topk) {
      at[h] = a.choice[token * l.topk + j];
      x[h] = z[at[h]], dp[h] = a.dp[token * l.topk + j] * l.scaling;
    }
  const Weights w = weigh(l, all, x);
  const float along = warp_sum(dp[0] * w.p[0] + dp[1] * w.p[1]);
  for (int h = 0; h < 2; ++h) {
    if (lane + 32 * h >= l.topk) continue;
    float to = dp[h];
    if (l.over_chosen()) to = w.p[h] * (dp[h] - along);
    if (l.over_sum()) to = (dp[h] - along) / w.sum;
    if (l.score != RouterScore::softmax) to *= slope_of(l.score, x[h], w.p[h] * w.sum);
    d[at[h]] = to;
  }
  __syncwarp();
  for (int i = lane; i < l.experts; i += 32) a.dz[token * l.experts + i] = whole ? all(z[i]) * (d[i] - along) : d[i];
}

}  // namespace

void launch_route(const RouteLaunch& l, const RouteArrays& a, cudaStream_t stream) {
  if (l.tokens == 0) return;
  route_kernel<<<router_blocks(l.tokens), kRouterThreads, 0, stream>>>(l, a);
  check_launch("[route] launch");
}

void launch_route_grad(const RouteLaunch& l, const RouteGradArrays& a, cudaStream_t stream) {
  if (l.tokens == 0) return;
  route_grad_kernel<<<router_blocks(l.tokens), kRouterThreads, 0, stream>>>(l, a);
  check_launch("[route_grad] launch");
}

}  // namespace megalith::cuda
