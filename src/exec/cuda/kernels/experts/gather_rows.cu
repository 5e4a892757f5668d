#include "exec/cuda/kernels/experts/gather_rows.h"

#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 256;

// Threads along a row of `width` words or packs. The other threads of a block have other rows.
dim3 block_along(i64 width) {
  unsigned along = 1;
  while (along < 128 && along < width) along *= 2;
  return {along, kThreads / along};
}

template <class U>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(i64 width, const i32* count, const i32* source, const U* x, U* rows) {
  const i64 row = i64(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= *count) return;
  const U* from = x + i64(source[row]) * width;
  U* to = rows + row * width;
#pragma unroll 4
  for (i64 i = threadIdx.x; i < width; i += blockDim.x) to[i] = __ldg(from + i);
}

template <class U>
void launch_words(const GatherRowsLaunch& l, const i32* count, const i32* source, const void* x, void* rows,
                  cudaStream_t stream) {
  const i64 width = l.bytes / i64(sizeof(U));
  const dim3 block = block_along(width);
  gather_kernel<<<blocks_for(l.bound, block.y), block, 0, stream>>>(width, count, source, static_cast<const U*>(x),
                                                                    static_cast<U*>(rows));
}

// kSlots rows are in flight at once.
template <class T, int N>
__global__ void __launch_bounds__(kThreads)
    combine_kernel(CombineRowsLaunch l, const i32* slots, const T* rows, const T* plus, T* y) {
  constexpr int kSlots = 4;
  const i64 token = i64(blockIdx.x) * blockDim.y + threadIdx.y;
  if (token >= l.tokens) return;
  const i32* of_token = slots + token * l.k;
  if (plus == y) {
    bool any = false;
    for (i64 j = 0; j < l.k; ++j) any |= of_token[j] >= 0;
    if (!any) return;
  }
  for (i64 i = i64(threadIdx.x) * N; i < l.h; i += blockDim.x * N) {
    Numbers<float, N> sum{};
    if (plus) sum = unpack<float>(load_pack<N>(plus + token * l.h + i));
    for (i64 j = 0; j < l.k; j += kSlots) {
      Pack<T, N> row[kSlots];
      i32 slot[kSlots];
#pragma unroll
      for (int s = 0; s < kSlots; ++s) {
        slot[s] = j + s < l.k ? of_token[j + s] : -1;
        if (slot[s] >= 0) row[s] = load_pack<N>(rows + i64(slot[s]) * l.h + i);
      }
#pragma unroll
      for (int s = 0; s < kSlots; ++s) {
        if (slot[s] < 0) continue;
        const Numbers<float, N> x = unpack<float>(row[s]);
#pragma unroll
        for (int e = 0; e < N; ++e) sum.x[e] += x.x[e];
      }
    }
    store_pack(y + token * l.h + i, sum);
  }
}

__global__ void __launch_bounds__(kThreads) weights_kernel(i64 n, const i32* slots, const float* p, float* w) {
  const i64 i = i64(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n && slots[i] >= 0) w[slots[i]] = p[i];
}

__global__ void __launch_bounds__(kThreads) weights_grad_kernel(i64 n, const i32* slots, const float* dw, float* dp) {
  const i64 i = i64(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) dp[i] = slots[i] >= 0 ? dw[slots[i]] : 0.0f;
}

}  // namespace

void launch_gather(const GatherRowsLaunch& l, const i32* count, const i32* source, const void* x, void* rows,
                   cudaStream_t stream) {
  if (l.bound * l.bytes == 0) return;
  if (l.bytes % 16 == 0)
    launch_words<uint4>(l, count, source, x, rows, stream);
  else if (l.bytes % 4 == 0)
    launch_words<u32>(l, count, source, x, rows, stream);
  else
    launch_words<u16>(l, count, source, x, rows, stream);
  check_launch("[gather_rows] launch");
}

void launch_combine(const CombineRowsLaunch& l, const i32* slots, const void* rows, const void* plus, void* y,
                    cudaStream_t stream) {
  if (l.tokens * l.h == 0) return;
  dispatch_activation(l.dtype, [&]<class T>() {
    const auto run = [&]<int N>() {
      const dim3 block = block_along(l.h / N);
      combine_kernel<T, N><<<blocks_for(l.tokens, block.y), block, 0, stream>>>(
          l, slots, static_cast<const T*>(rows), static_cast<const T*>(plus), static_cast<T*>(y));
    };
    if (l.h % kPackSize<T> == 0)
      run.template operator()<kPackSize<T>>();
    else
      run.template operator()<1>();
  });
  check_launch("[combine_rows] launch");
}

void launch_gather_weights(i64 n, const i32* slots, const float* p, float* w, cudaStream_t stream) {
  if (n == 0) return;
  weights_kernel<<<blocks_for(n, kThreads), kThreads, 0, stream>>>(n, slots, p, w);
  check_launch("[gather_weights] launch");
}

void launch_gather_weights_grad(i64 n, const i32* slots, const float* dw, float* dp, cudaStream_t stream) {
  if (n == 0) return;
  weights_grad_kernel<<<blocks_for(n, kThreads), kThreads, 0, stream>>>(n, slots, dw, dp);
  check_launch("[gather_weights_grad] launch");
}

}  // namespace megalith::cuda
