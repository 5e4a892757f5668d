// A block has one query of one head and a span of keys. Each of its warps takes every kWarps-th batch of kUnroll
// keys, with lanes across the head's width. It keeps a running maximum, a sum and weighted values. The block combines
// its warps in shared memory; a second kernel combines the spans.
#include "exec/cuda/kernels/attention/cached_attention.h"

#include "exec/cuda/kernels/attention/alibi.cuh"
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

constexpr int kWarps = 4, kUnroll = 4;
constexpr float kNone = -INFINITY;

template <class B>
static __global__ void cache_write_kernel(CacheWriteLaunch l, const B* x, const i32* length, B* cache) {
  const i64 row = l.row_bytes / i64(sizeof(B)), i = i64(blockIdx.x) * blockDim.x + threadIdx.x, at = *length;
  if (at < 0 || at + l.rows > l.most || i >= l.rows * row) return;
  cache[at * row + i] = x[i];
}

void launch(const CacheWriteLaunch& l, const void* x, const i32* length, void* cache, cudaStream_t stream) {
  const i64 bytes = l.rows * l.row_bytes;
  if (bytes == 0) return;
  const auto with = [&]<class B>() {
    cache_write_kernel<<<blocks_for(bytes / i64(sizeof(B)), 256), 256, 0, stream>>>(l, static_cast<const B*>(x), length,
                                                                                    static_cast<B*>(cache));
  };
  if (l.row_bytes % i64(sizeof(uint4)) == 0)
    with.template operator()<uint4>();
  else
    with.template operator()<u8>();
  check_launch("[cache_write] launch");
}

// The partial result of some keys: values weighted with exp(score - m), and the sum of these weights. E: elements of
// a head's width in each lane.
template <int E>
struct Softmax {
  float m = kNone, sum = 0, out[E] = {};

  __device__ void grow(float new_m) {  // new_m > -inf
    const float by = expf(m - new_m);
    m = new_m, sum *= by;
#pragma unroll
    for (int e = 0; e < E; ++e) out[e] *= by;
  }
};

template <class T, int E>
__device__ inline void load_head(const T* from, i64 d, float (&to)[E]) {
#pragma unroll
  for (int e = 0; e < E; ++e) {
    const int i = threadIdx.x % 32 + 32 * e;
    to[e] = i < d ? widen(from[i]) : 0.0f;
  }
}

// bias: of the head's distance 0.
__device__ inline float bias_of(const CachedAttentionLaunch& l, float slope, const float* bias, i64 key, i64 position) {
  if (l.reach > 0) return bias[max(key - position, i64(-l.reach))];
  if (!l.alibi_scaled) return slope * float(key - position);
  return l.scale * (rounded_alibi(slope, int(key)) - rounded_alibi(slope, int(position)));
}

// Keys p, p + 1, ..., at most kUnroll and below `end`.
template <class T, int E>
__device__ inline void add_keys(const CachedAttentionLaunch& l, const T* keys, const T* values, i64 p, i64 end,
                                const float (&q)[E], float slope, const float* bias, i64 position, Softmax<E>& all) {
  const i64 step = l.b * l.g * l.d;
  float score[kUnroll], v[kUnroll][E];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    float k[E];
    const i64 key = min(p + u, end - 1);
    load_head(keys + key * step, l.d, k), load_head(values + key * step, l.d, v[u]);
    score[u] = 0;
#pragma unroll
    for (int e = 0; e < E; ++e) score[u] += q[e] * k[e];
  }
  float most = all.m;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    score[u] = p + u < end ? warp_sum(score[u]) * l.scale + bias_of(l, slope, bias, p + u, position) : kNone;
    most = fmaxf(most, score[u]);
  }
  if (most == kNone) return;
  all.grow(most);
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const float weight = expf(score[u] - most);
    all.sum += weight;
#pragma unroll
    for (int e = 0; e < E; ++e) all.out[e] += weight * v[u][e];
  }
}

// partial [jobs, splits, d + 2]: m, sum, values. A job is a row of q: [s, b, g, r].
template <class T, int E>
static __global__ void __launch_bounds__(32 * kWarps)
    span_kernel(const __grid_constant__ CachedAttentionLaunch l, const T* q, const T* k, const T* v, const i32* length,
                const float* biases, float* partial) {
  __shared__ float ms[kWarps], sums[kWarps], outs[kWarps][32 * E];
  const i64 job = blockIdx.x, r = job % l.r, g = job / l.r % l.g, b = job / l.r / l.g % l.b, i = job / l.r / l.g / l.b;
  const i64 position = *length + i, group = (b * l.g + g) * l.d;
  const i64 seen = l.window > 0 ? max(i64(0), position - l.window + 1) : 0;
  const i64 begin = max(seen, blockIdx.y * l.kSpan), end = min(min(position + 1, l.t), (blockIdx.y + 1) * l.kSpan);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const float* bias = biases + (g * l.r + r) * (2 * l.reach + 1) + l.reach;
  float query[E];
  load_head(q + job * l.d, l.d, query);
  Softmax<E> mine;
  for (i64 p = begin + warp * kUnroll; p < end; p += kWarps * kUnroll)
    add_keys(l, k + group, v + group, p, end, query, l.alibi ? l.slopes[g * l.r + r] : 0.0f, bias, position, mine);
  float most = kNone;
  if (lane == 0) ms[warp] = mine.m;
  __syncthreads();
  for (float m : ms) most = fmaxf(most, m);
  if (most > kNone) mine.grow(most);
  if (lane == 0) sums[warp] = mine.sum;
#pragma unroll
  for (int e = 0; e < E; ++e) outs[warp][lane + 32 * e] = mine.out[e];
  __syncthreads();
  float* to = partial + (job * gridDim.y + blockIdx.y) * (l.d + 2);
  if (threadIdx.x == 0) to[0] = most, to[1] = ((sums[0] + sums[1]) + sums[2]) + sums[3];
  for (int e = threadIdx.x; e < l.d; e += 32 * kWarps)
    to[2 + e] = ((outs[0][e] + outs[1][e]) + outs[2][e]) + outs[3][e];
}

template <class T>
static __global__ void combine_kernel(const __grid_constant__ CachedAttentionLaunch l, const i32* length,
                                      const float* partial, T* o) {
  const i64 job = blockIdx.x, splits = l.splits();
  const bool fits = *length >= 0 && *length + l.s <= l.t;
  const float* from = partial + job * splits * (l.d + 2);
  float most = kNone, sum = 0, out = 0;
  for (i64 s = 0; s < splits; ++s) most = fmaxf(most, from[s * (l.d + 2)]);
  const int e = threadIdx.x;
  if (e >= l.d) return;
  for (i64 s = 0; s < splits; ++s) {
    const float* part = from + s * (l.d + 2);
    if (part[0] == kNone) continue;
    const float weight = expf(part[0] - most);
    sum += weight * part[1], out += weight * part[2 + e];
  }
  o[job * l.d + e] = narrow<T>(fits ? out / sum : NAN);
}

void launch(const CachedAttentionLaunch& l, const CachedAttentionInputs& in, void* o, float* workspace,
            cudaStream_t stream) {
  if (l.jobs() * l.d == 0) return;
  dispatch_activation(l.dtype, [&]<class T>() {
    const auto spans = [&]<int E>() {
      span_kernel<T, E><<<dim3(unsigned(l.jobs()), unsigned(l.splits())), 32 * kWarps, 0, stream>>>(
          l, static_cast<const T*>(in.q), static_cast<const T*>(in.k), static_cast<const T*>(in.v), in.length, in.bias,
          workspace);
    };
    if (l.d <= 64)
      spans.template operator()<2>();
    else if (l.d <= 128)
      spans.template operator()<4>();
    else
      spans.template operator()<8>();
    combine_kernel<<<int(l.jobs()), int((l.d + 31) / 32 * 32), 0, stream>>>(l, in.length, workspace,
                                                                            static_cast<T*>(o));
  });
  check_launch("[cached_attention] launch");
}

}  // namespace megalith::cuda
