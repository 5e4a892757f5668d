#include "exec/cuda/kernels/attention/relative_bias.h"

#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 256, kColumns = 32, kRows = 8;

template <class T>
__global__ void spread_kernel(const __grid_constant__ RelativeTable t, const T* table, float factor, float* bias) {
  const int n = t.buckets.distances(), i = int(blockIdx.x * blockDim.x + threadIdx.x), head = int(blockIdx.y);
  if (i >= n) return;
  bias[i64(head) * n + i] = widen(table[i64(head) * t.buckets.count + t.buckets.of(i - t.buckets.reach)]) * factor;
}

// A block has one query of a head.
__global__ void write_kernel(const __grid_constant__ RelativeTable t, int keys, const u16* table, u16* biases) {
  const int query = int(blockIdx.x), head = int(blockIdx.y);
  u16* to = biases + (i64(head) * gridDim.x + query) * keys;
  for (int key = int(threadIdx.x); key < keys; key += int(blockDim.x))
    to[key] = table[i64(head) * t.buckets.count + t.buckets.of(key - query)];
}

// A thread adds every kRows-th row of [samples, strips] at its distance. Then the block adds the threads' rows.
__global__ void by_distance_kernel(int n, int heads, int samples, int strips, const float* grads, float* to) {
  __shared__ float parts[kRows][kColumns];
  const int i = int(blockIdx.x) * kColumns + int(threadIdx.x), head = int(blockIdx.y);
  float sum = 0;
  for (int row = int(threadIdx.y); i < n && row < samples * strips; row += kRows)
    sum += grads[((i64(row / strips) * heads + head) * strips + row % strips) * n + i];
  parts[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || i >= n) return;
  for (int row = 1; row < kRows; ++row) sum += parts[row][threadIdx.x];
  to[i64(head) * n + i] = sum;
}

// A block has a head and kThreads of its buckets, and reads all distances, kThreads at a time.
template <class T>
__global__ void by_bucket_kernel(const __grid_constant__ RelativeTable t, const float* by_distance, T* dtable) {
  __shared__ float values[kThreads];
  __shared__ int places[kThreads];
  const int n = t.buckets.distances(), head = int(blockIdx.x), me = int(threadIdx.x);
  const int bucket = int(blockIdx.y) * kThreads + me;
  float sum = 0;
  for (int first = 0; first < n; first += kThreads) {
    __syncthreads();
    if (first + me < n) {
      values[me] = by_distance[i64(head) * n + first + me];
      places[me] = t.buckets.of(first + me - t.buckets.reach);
    }
    __syncthreads();
    for (int i = 0; i < min(kThreads, n - first); ++i)
      if (places[i] == bucket) sum += values[i];
  }
  if (bucket < t.buckets.count) dtable[i64(head) * t.buckets.count + bucket] = narrow<T>(sum);
}

}  // namespace

void spread_biases(const RelativeTable& t, const void* table, float factor, float* bias, cudaStream_t stream) {
  if (t.heads == 0) return;
  const dim3 grid(unsigned(blocks_for(t.buckets.distances(), kThreads)), unsigned(t.heads));
  dispatch_activation(t.dtype, [&]<class T>() {
    spread_kernel<T><<<grid, kThreads, 0, stream>>>(t, static_cast<const T*>(table), factor, bias);
  });
  check_launch("[attention] biases of relative positions");
}

void write_biases(const RelativeTable& t, int queries, int keys, const void* table, void* biases, cudaStream_t stream) {
  if (t.heads == 0 || queries == 0) return;
  write_kernel<<<dim3(unsigned(queries), unsigned(t.heads)), kThreads, 0, stream>>>(
      t, keys, static_cast<const u16*>(table), static_cast<u16*>(biases));
  check_launch("[attention] biases of all scores");
}

void sum_biases(const RelativeTable& t, int samples, int strips, const float* grads, float* by_distance, void* dtable,
                cudaStream_t stream) {
  if (t.heads == 0) return;
  const int n = t.buckets.distances();
  const dim3 grid(unsigned(blocks_for(n, kColumns)), unsigned(t.heads));
  by_distance_kernel<<<grid, dim3(kColumns, kRows), 0, stream>>>(n, t.heads, samples, strips, grads, by_distance);
  dispatch_activation(t.dtype, [&]<class T>() {
    const dim3 blocks(unsigned(t.heads), unsigned(blocks_for(t.buckets.count, kThreads)));
    by_bucket_kernel<T><<<blocks, kThreads, 0, stream>>>(t, by_distance, static_cast<T*>(dtable));
  });
  check_launch("[attention_grad] biases of relative positions");
}

}  // namespace megalith::cuda
