// A block reads a row of logits; each thread reads kUnroll packs at a time. Maximum and sum need one pass: a thread
// keeps its own maximum m and sum of exp(x - m). It corrects the sum when m grows (Milakov, Gimelshein 2018).
#include "exec/cuda/kernels/loss/cross_entropy.cuh"

namespace megalith::cuda {

constexpr int kRowThreads = 256, kUnroll = 4, kGradThreads = 256, kGradUnroll = 4;

// A thread's packs of a row, from the block's column `start` on. Missing columns are -inf.
template <class T, int N>
struct RowPacks {
  static constexpr int kStep = kRowThreads * kUnroll * N;  // columns of a block
  Pack<T, N> at[kUnroll];

  __device__ void load(const T* row, int start, int valid) {
    const int first = start + int(threadIdx.x) * N;
    if (start + kStep <= valid) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) at[u] = load_pack<N>(row + first + u * (kRowThreads * N));
      return;
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int c = first + u * (kRowThreads * N);
      Numbers<float, N> some = {};
      if (c < valid) some = unpack<float>(load_pack<N>(row + c));
#pragma unroll
      for (int k = 0; k < N; ++k) some.x[k] = c + k < valid ? some.x[k] : kNone;
      at[u] = pack<T>(some);
    }
  }
};

// f(packs) for this thread's packs of a row, kUnroll of them at once.
template <class T, int N, class F>
__device__ inline void for_row(const VocabLaunch& l, const T* row, F&& f) {
  for (int start = 0; start < l.valid; start += RowPacks<T, N>::kStep) {
    RowPacks<T, N> packs;
    packs.load(row, start, l.valid);
    f(packs);
  }
}

template <class T, int N>
__device__ inline float max_of(const RowPacks<T, N>& x) {
  float m = kNone;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const Numbers<float, N> v = unpack<float>(x.at[u]);
#pragma unroll
    for (int k = 0; k < N; ++k) m = fmaxf(m, v.x[k]);
  }
  return m;
}

template <class T, int N>
__device__ inline float sum_of(const RowPacks<T, N>& x, float m) {
  float sum = 0;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const Numbers<float, N> v = unpack<float>(x.at[u]);
    float part = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) part += exp_of<T>(v.x[k] - m);
    sum += part;
  }
  return sum;
}

template <class T, int N>
static __global__ void __launch_bounds__(kRowThreads)
    max_kernel(const __grid_constant__ VocabLaunch l, const T* x, float* m) {
  __shared__ float parts[32];
  float most = kNone;
  for_row<T, N>(l, x + i64(blockIdx.x) * l.width, [&](const RowPacks<T, N>& p) { most = fmaxf(most, max_of(p)); });
  most = block_max(most, parts);
  if (threadIdx.x == 0) m[blockIdx.x] = most;
}

template <class T>
__device__ inline void store_sums(const VocabLaunch& l, const T* row, int label, float m, float sum, float* z) {
  const int at = find(l, label);
  z[blockIdx.x] = sum;
  z[l.rows + blockIdx.x] = at < 0 ? 0.0f : widen(row[at]) - m;
}

template <class T, int N>
static __global__ void __launch_bounds__(kRowThreads)
    sums_kernel(const __grid_constant__ VocabLaunch l, const T* x, const i32* labels, const float* m, float* z) {
  __shared__ float parts[32];
  const T* row = x + i64(blockIdx.x) * l.width;
  const float most = m[blockIdx.x];
  float sum = 0;
  for_row<T, N>(l, row, [&](const RowPacks<T, N>& p) { sum += sum_of(p, most); });
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) store_sums(l, row, labels[blockIdx.x], most, sum, z);
}

template <class T, int N>
static __global__ void __launch_bounds__(kRowThreads)
    max_sums_kernel(const __grid_constant__ VocabLaunch l, const T* x, const i32* labels, float* m, float* z) {
  __shared__ float parts[32];
  const T* row = x + i64(blockIdx.x) * l.width;
  float most = kNone, sum = 0;
  for_row<T, N>(l, row, [&](const RowPacks<T, N>& p) {
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

// A block has a segment of a row. One thread handles the label's column.
template <class T, int N>
static __global__ void __launch_bounds__(kGradThreads)
    grad_kernel(const __grid_constant__ VocabLaunch l, const T* x, T* dx, const __grid_constant__ VocabGrad g) {
  constexpr int kSegment = kGradThreads * kGradUnroll * N;
  const unsigned segments = unsigned(l.width - 1) / kSegment + 1, row = blockIdx.x / segments;
  const int first = int(blockIdx.x - row * segments) * kSegment + int(threadIdx.x) * N;
  const int label = g.labels[row];
  const float m = g.m[row], dz0 = g.dz[row], dz1 = g.dz[l.rows + row];
  Pack<T, N> p[kGradUnroll];
#pragma unroll
  for (int u = 0; u < kGradUnroll; ++u)
    if (const int c = first + u * (kGradThreads * N); c < l.valid) p[u] = load_pack<N>(x + i64(row) * l.width + c);
  const int at = find(l, label);
#pragma unroll
  for (int u = 0; u < kGradUnroll; ++u) {
    const int c = first + u * (kGradThreads * N);
    if (c >= l.width) continue;
    Numbers<float, N> y = unpack<float>(p[u]);
#pragma unroll
    for (int k = 0; k < N; ++k) y.x[k] = dz0 * exp_of<T>(y.x[k] - m);
    if (unsigned(at - c) < unsigned(N)) {
#pragma unroll
      for (int k = 0; k < N; ++k) y.x[k] += c + k == at ? dz1 : 0.0f;
    }
    if (c + N > l.valid) {
#pragma unroll
      for (int k = 0; k < N; ++k) y.x[k] = c + k < l.valid ? y.x[k] : 0.0f;
    }
    store_pack(dx + i64(row) * l.width + c, y);
  }
}

// Calls f with the element type, and the size of the packs that divides rows.
template <class F>
static void with_packs(const VocabLaunch& l, F&& f) {
  if (l.rows == 0 || l.width == 0) return;
  dispatch_activation(l.dtype, [&]<class T>() {
    constexpr int N = kPackSize<T>;
    if (l.width % N == 0)
      f.template operator()<T, N>();
    else
      f.template operator()<T, 1>();
  });
}

void launch_vocab_max(const VocabLaunch& l, const void* x, float* m, cudaStream_t stream) {
  with_packs(l, [&]<class T, int N>() {
    max_kernel<T, N><<<int(l.rows), kRowThreads, 0, stream>>>(l, static_cast<const T*>(x), m);
  });
  check_launch("[vocab_max] launch");
}

void launch_vocab_sums(const VocabLaunch& l, const void* x, const i32* labels, const float* m, float* z,
                       cudaStream_t stream) {
  with_packs(l, [&]<class T, int N>() {
    sums_kernel<T, N><<<int(l.rows), kRowThreads, 0, stream>>>(l, static_cast<const T*>(x), labels, m, z);
  });
  check_launch("[vocab_sums] launch");
}

void launch_vocab_max_sums(const VocabLaunch& l, const void* x, const i32* labels, float* m, float* z,
                           cudaStream_t stream) {
  with_packs(l, [&]<class T, int N>() {
    max_sums_kernel<T, N><<<int(l.rows), kRowThreads, 0, stream>>>(l, static_cast<const T*>(x), labels, m, z);
  });
  check_launch("[vocab_max_sums] launch");
}

void launch_vocab_sums_grad(const VocabLaunch& l, const VocabGrad& g, cudaStream_t stream) {
  with_packs(l, [&]<class T, int N>() {
    const int blocks = int(l.rows) * blocks_for(l.width, i64(kGradThreads) * kGradUnroll * N);
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
