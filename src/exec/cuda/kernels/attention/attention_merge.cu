#include "exec/cuda/kernels/attention/attention_merge.h"

#include "exec/cuda/kernels/device_math.cuh"
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 256, kEach = 8;  // elements of a thread

// 8 elements.
struct Elements {
  float x[kEach];
};
template <class T>
__device__ Elements load_elements(const T* from) {
  Elements out;
  unpack(load_pack<kEach>(from), out.x);
  return out;
}
template <class T>
__device__ void store_elements(T* to, const Elements& v) {
  put_pack(to, packed<T>(v.x));
}

// d / 8 threads for each row, all in one block. They all read a row before its lse is written, because lse may
// overlap it.
template <class Part, class Out>
__global__ void __launch_bounds__(kThreads)
    merge_kernel(const __grid_constant__ AttentionMerge n, const __grid_constant__ AttentionMergeBuffers x) {
  const int threads = n.d / kEach, rows = kThreads / threads, mine = int(threadIdx.x) / threads;
  const int line = int(blockIdx.x) * rows + mine, heads = int(n.heads);
  const bool real = mine < rows && line < int(n.s) * heads;
  const int column = int(threadIdx.x) % threads * kEach;
  const i64 row = line, at = real ? line / heads - n.query : -1, head = line % heads;
  float before = -INFINITY, part = -INFINITY;
  const bool has_part = at >= 0 && at < n.queries;
  if (real && x.lse_before) before = x.lse_before[row];
  if (has_part) part = x.lse_part[head * n.queries + at];
  __syncthreads();
  if (!real) return;
  const float most = fmaxf(before, part), base = most == -INFINITY ? 0.0f : most;
  const float weights[2] = {expf(before - base), expf(part - base)}, sum = weights[0] + weights[1];
  const float scale = sum == 0 ? 0.0f : 1 / sum;
  if (column == 0) x.lse[row] = most == -INFINITY ? most : most + logf(sum);
  Elements out = {};
  if (x.o_before && before != -INFINITY) {
    const Elements old = load_elements(x.o_before + row * n.d + column);
#pragma unroll
    for (int i = 0; i < kEach; ++i) out.x[i] = old.x[i] * (weights[0] * scale);
  }
  if (has_part) {
    const i64 from = (at * n.heads + head) * n.d + column;
    const Elements fresh = load_elements(static_cast<const Part*>(x.o_part) + from);
#pragma unroll
    for (int i = 0; i < kEach; ++i) out.x[i] += fresh.x[i] * (weights[1] * scale);
  }
  store_elements(static_cast<Out*>(x.o) + row * n.d + column, out);
}

}  // namespace

void launch(const AttentionMerge& n, const AttentionMergeBuffers& x, cudaStream_t stream) {
  if (n.s == 0 || n.heads == 0) return;
  check(n.s * n.heads < i64{1} << 30, "[attention_part] {} queries of {} heads are too large", n.s, n.heads);
  const int blocks = blocks_for(n.s * n.heads, kThreads / (n.d / kEach));
  const auto typed = [&]<class T>() {
    n.wide ? merge_kernel<T, float><<<blocks, kThreads, 0, stream>>>(n, x)
           : merge_kernel<T, T><<<blocks, kThreads, 0, stream>>>(n, x);
  };
  n.part == DType::f16 ? typed.template operator()<__half>() : typed.template operator()<__nv_bfloat16>();
  check_launch("[attention_part] merge");
}

}  // namespace megalith::cuda
