// A block reads a row of logits, each thread kUnroll packs at a time. Maximum and sum take one pass together: a thread
// keeps its own maximum m and sum of exp(x - m), and corrects the sum when m grows (Milakov, Gimelshein 2018).
#include "exec/cuda/kernels/cross_entropy.h"

#include "exec/cuda/kernels/device_math.cuh"
#include "exec/cuda/kernels/elementwise.cuh"

namespace megalith::cuda {

constexpr int kUnroll = 4, kGradThreads = 256;
constexpr float kNone = -INFINITY;

// The label's place among the columns here, or -1.
__device__ inline i64 find(const VocabLaunch& l, i64 label) {
  i64 before = 0;
  for (int r = 0; r < l.runs; before += l.length[r++])
    if (label >= l.start[r] && label < l.start[r] + l.length[r]) return before + label - l.start[r];
  return -1;
}

template <class T>
__device__ inline float exp_of(float x) {
  return exponential<kPrecise<T>>(x);
}

// f(pack) for this thread's packs of the row's existing columns, kUnroll of them loaded at once; what is missing at the
// end is -inf.
template <class T, int N, class F>
__device__ inline void for_row(const VocabLaunch& l, const T* row, F&& f) {
  for (i64 first = i64(threadIdx.x) * N; first < l.valid; first += i64(blockDim.x) * (kUnroll * N)) {
    Pack<T, N> x[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const i64 c = first + i64(u) * blockDim.x * N;
      if (c + N <= l.valid) {
        x[u] = *reinterpret_cast<const Pack<T, N>*>(row + c);
      } else {
#pragma unroll
        for (int k = 0; k < N; ++k) x[u].x[k] = c + k < l.valid ? row[c + k] : T(kNone);
      }
    }
    f(x);
  }
}

template <class T, int N>
__device__ inline float max_of(const Pack<T, N> (&x)[kUnroll]) {
  float m = kNone;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u)
#pragma unroll
    for (int k = 0; k < N; ++k) m = fmaxf(m, widen(x[u].x[k]));
  return m;
}

template <class T, int N>
__device__ inline float sum_of(const Pack<T, N> (&x)[kUnroll], float m) {
  float sum = 0;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    float part = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) part += exp_of<T>(widen(x[u].x[k]) - m);
    sum += part;
  }
  return sum;
}

__device__ inline float block_max(float x, float* parts) {
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, lane));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  x = kNone;
  for (int w = 0; w < blockDim.x / 32; ++w) x = fmaxf(x, parts[w]);
  __syncthreads();
  return x;
}

template <class T, int N>
static __global__ void max_kernel(const __grid_constant__ VocabLaunch l, const T* x, float* m) {
  __shared__ float parts[32];
  float most = kNone;
  for_row<T, N>(l, x + blockIdx.x * l.width, [&](const Pack<T, N>(&p)[kUnroll]) { most = fmaxf(most, max_of(p)); });
  most = block_max(most, parts);
  if (threadIdx.x == 0) m[blockIdx.x] = most;
}

template <class T>
__device__ inline void store_sums(const VocabLaunch& l, const T* row, i64 label, float m, float sum, float* z) {
  const i64 at = find(l, label);
  z[blockIdx.x] = sum;
  z[l.rows + blockIdx.x] = at < 0 ? 0.0f : widen(row[at]) - m;
}

template <class T, int N>
static __global__ void sums_kernel(const __grid_constant__ VocabLaunch l, const T* x, const i32* labels, const float* m,
                                   float* z) {
  __shared__ float parts[32];
  const T* row = x + blockIdx.x * l.width;
  const float most = m[blockIdx.x];
  float sum = 0;
  for_row<T, N>(l, row, [&](const Pack<T, N>(&p)[kUnroll]) { sum += sum_of(p, most); });
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) store_sums(l, row, labels[blockIdx.x], most, sum, z);
}

template <class T, int N>
static __global__ void max_sums_kernel(const __grid_constant__ VocabLaunch l, const T* x, const i32* labels, float* m,
                                       float* z) {
  __shared__ float parts[32];
  const T* row = x + blockIdx.x * l.width;
  float most = kNone, sum = 0;
  for_row<T, N>(l, row, [&](const Pack<T, N>(&p)[kUnroll]) {
    const float here = max_of(p);
    if (here > most) sum *= exp_of<T>(most - here), most = here;
    sum += sum_of(p, most == kNone ? 0.0f : most);
  });
  const float all = block_max(most, parts);
  sum = block_sum(most == kNone ? sum : sum * exp_of<T>(most - all), parts);
  if (threadIdx.x != 0) return;
  m[blockIdx.x] = all;
  store_sums(l, row, labels[blockIdx.x], all, sum, z);
}

template <class T, int N>
static __global__ void __launch_bounds__(kGradThreads)
    grad_kernel(const __grid_constant__ VocabLaunch l, const T* x, T* dx, const __grid_constant__ VocabGrad g) {
  constexpr i64 kSegment = i64(kGradThreads) * kUnroll * N;
  const i64 segments = (l.width + kSegment - 1) / kSegment, row = blockIdx.x / segments;
  const i64 first = (blockIdx.x - row * segments) * kSegment + threadIdx.x * N;
  Pack<T, N> p[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u)
    if (const i64 c = first + u * (kGradThreads * N); c < l.valid)
      p[u] = *reinterpret_cast<const Pack<T, N>*>(x + row * l.width + c);
  const float m = g.m[row], dz0 = g.dz[row], dz1 = g.dz[l.rows + row];
  const i64 label = find(l, g.labels[row]);
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const i64 c = first + u * (kGradThreads * N);
    if (c >= l.width) continue;
    float y[N];
#pragma unroll
    for (int k = 0; k < N; ++k) y[k] = dz0 * exp_of<T>(widen(p[u].x[k]) - m);
    if (c <= label && label < c + N) {
#pragma unroll
      for (int k = 0; k < N; ++k) y[k] += c + k == label ? dz1 : 0.0f;
    }
    if (c + N > l.valid) {
#pragma unroll
      for (int k = 0; k < N; ++k) y[k] = c + k < l.valid ? y[k] : 0.0f;
    }
    Pack<T, N> out;
#pragma unroll
    for (int k = 0; k < N; ++k) out.x[k] = narrow<T>(y[k]);
    *reinterpret_cast<Pack<T, N>*>(dx + row * l.width + c) = out;
  }
}

// Calls f with the element type, the size of the packs that rows divide into, and the threads that a row is worth.
template <class F>
static void with_packs(const VocabLaunch& l, F&& f) {
  if (l.rows * l.width == 0) return;
  dispatch_activation(l.dtype, [&]<class T>() {
    constexpr int N = kPackSize<T>;
    const int threads = l.width >= 16384 ? 512 : 128;
    if (l.width % N == 0)
      f.template operator()<T, N>(threads);
    else
      f.template operator()<T, 1>(threads);
  });
}

void launch_vocab_max(const VocabLaunch& l, const void* x, float* m, cudaStream_t stream) {
  with_packs(l, [&]<class T, int N>(int threads) {
    max_kernel<T, N><<<int(l.rows), threads, 0, stream>>>(l, static_cast<const T*>(x), m);
  });
  check_launch("[vocab_max] launch");
}

void launch_vocab_sums(const VocabLaunch& l, const void* x, const i32* labels, const float* m, float* z,
                       cudaStream_t stream) {
  with_packs(l, [&]<class T, int N>(int threads) {
    sums_kernel<T, N><<<int(l.rows), threads, 0, stream>>>(l, static_cast<const T*>(x), labels, m, z);
  });
  check_launch("[vocab_sums] launch");
}

void launch_vocab_max_sums(const VocabLaunch& l, const void* x, const i32* labels, float* m, float* z,
                           cudaStream_t stream) {
  with_packs(l, [&]<class T, int N>(int threads) {
    max_sums_kernel<T, N><<<int(l.rows), threads, 0, stream>>>(l, static_cast<const T*>(x), labels, m, z);
  });
  check_launch("[vocab_max_sums] launch");
}

void launch_vocab_sums_grad(const VocabLaunch& l, const VocabGrad& g, cudaStream_t stream) {
  with_packs(l, [&]<class T, int N>(int) {
    const int blocks = int(l.rows) * blocks_for(l.width, i64(kGradThreads) * kUnroll * N);
    grad_kernel<T, N><<<blocks, kGradThreads, 0, stream>>>(l, static_cast<const T*>(g.x), static_cast<T*>(g.dx), g);
  });
  check_launch("[vocab_sums_grad] launch");
}

static __global__ void cross_entropy_kernel(i64 n, const float* z, float* loss) {
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) loss[i] = logf(z[i]) - z[n + i];
}

void launch_cross_entropy(i64 n, const float* z, float* loss, cudaStream_t stream) {
  if (n == 0) return;
  cross_entropy_kernel<<<blocks_for(n, 128), 128, 0, stream>>>(n, z, loss);
  check_launch("[cross_entropy] launch");
}

static __global__ void cross_entropy_grad_kernel(i64 n, const float* dy, const float* z, float* dz) {
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) dz[i] = dy[i] / z[i], dz[n + i] = -dy[i];
}

void launch_cross_entropy_grad(i64 n, const float* dy, const float* z, float* dz, cudaStream_t stream) {
  if (n == 0) return;
  cross_entropy_grad_kernel<<<blocks_for(n, 128), 128, 0, stream>>>(n, dy, z, dz);
  check_launch("[cross_entropy_grad] launch");
}

}  // namespace megalith::cuda
