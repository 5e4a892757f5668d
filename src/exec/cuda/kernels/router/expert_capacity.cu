// A block lists its expert's entries in the tokens' order, and keeps the first ones. By weight, it keeps all entries
// above the weight of the last kept one. Of equal weights it keeps the first ones. It finds that weight bit by bit.
#include "exec/cuda/kernels/router/expert_capacity.h"

#include "exec/cuda/kernels/router/router_row.cuh"

namespace megalith::cuda {

namespace {

constexpr int kCapacityThreads = 256, kCapacityWarps = kCapacityThreads / 32;

// The number of threads with `mine` before this one, and in `all` their total. `parts`: shared memory, a number for
// each warp.
__device__ inline int place_of(bool mine, int* parts, int& all) {
  const int lane = my_lane(), warp = int(threadIdx.x / 32);
  const u32 there = __ballot_sync(kAllLanes, mine);
  __syncthreads();
  if (lane == 0) parts[warp] = __popc(there);
  __syncthreads();
  int before = __popc(there & ((1u << lane) - 1));
  all = 0;
  for (int w = 0; w < kCapacityWarps; ++w) {
    if (w < warp) before += parts[w];
    all += parts[w];
  }
  return before;
}

// The largest t that the keys of at least `keep` of the n entries reach.
template <class Key>
__device__ inline u32 key_of_last(i64 n, i64 keep, const Key& key) {
  u32 t = 0;
  for (u32 bit = 1u << 31; bit > 0; bit >>= 1) {
    i64 reach = 0;
    for (i64 first = 0; first < n; first += kCapacityThreads) {
      const i64 i = first + threadIdx.x;
      reach += __syncthreads_count(i < n && key(i) >= (t | bit));
    }
    if (reach >= keep) t |= bit;
  }
  return t;
}

__global__ void __launch_bounds__(kCapacityThreads)
    capacity_kernel(const __grid_constant__ CapacityLaunch l, const __grid_constant__ CapacityArrays a) {
  __shared__ int parts[kCapacityWarps];
  const int expert = int(blockIdx.x);
  const i64 entries = l.tokens * l.topk;
  i32* list = a.lists + expert * l.tokens;
  i64 n = 0;
  for (i64 first = 0; first < entries; first += kCapacityThreads) {
    const i64 i = first + threadIdx.x;
    const i32 chosen = i < entries ? a.choice[i] : expert + 1;
    const bool nobodys = chosen < 0 || chosen >= l.experts;
    if (i < entries && nobodys && expert == 0) a.p_out[i] = a.p[i], a.choice_out[i] = chosen;
    int more;
    const i64 place = n + place_of(chosen == expert, parts, more);
    if (chosen == expert && place < l.tokens) list[place] = i32(i);
    n = min(n + more, l.tokens);
  }
  __syncthreads();
  const auto key = [&](i64 i) { return ordered(a.p[list[i]]); };
  const bool sorts = l.by_weight && n > l.capacity;
  const u32 last = sorts ? key_of_last(n, l.capacity, key) : 0;
  i64 above = 0;  // in keys
  for (i64 first = 0; sorts && first < n; first += kCapacityThreads) {
    const i64 i = first + threadIdx.x;
    above += __syncthreads_count(i < n && key(i) > last);
  }
  i64 equal = 0;  // entries so far that equal the last key; without weights all entries
  for (i64 first = 0; first < n; first += kCapacityThreads) {
    const i64 i = first + threadIdx.x;
    const bool is_above = sorts && i < n && key(i) > last, is_equal = i < n && (!sorts || key(i) == last);
    int more;
    const i64 place = equal + place_of(is_equal, parts, more);
    equal += more;
    if (i >= n) continue;
    const bool kept = is_above || (is_equal && above + place < l.capacity);
    const i32 at = list[i];
    a.p_out[at] = kept ? a.p[at] : 0.0f, a.choice_out[at] = kept ? expert : -1;
  }
}

__global__ void __launch_bounds__(kCapacityThreads)
    capacity_grad_kernel(i64 n, const float* dp, const i32* choice, float* out) {
  const i64 i = i64(blockIdx.x) * kCapacityThreads + threadIdx.x;
  if (i < n) out[i] = choice[i] < 0 ? 0.0f : dp[i];
}

}  // namespace

void launch_expert_capacity(const CapacityLaunch& l, const CapacityArrays& a, cudaStream_t stream) {
  if (l.tokens == 0) return;
  capacity_kernel<<<l.experts, kCapacityThreads, 0, stream>>>(l, a);
  check_launch("[expert_capacity] launch");
}

void launch_expert_capacity_grad(i64 n, const float* dp, const i32* choice, float* out, cudaStream_t stream) {
  if (n == 0) return;
  capacity_grad_kernel<<<blocks_for(n, kCapacityThreads), kCapacityThreads, 0, stream>>>(n, dp, choice, out);
  check_launch("[expert_capacity_grad] launch");
}

}  // namespace megalith::cuda
