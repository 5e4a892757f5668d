// Launches of activate.h.
#include "exec/cuda/kernels/activate.h"

#include "exec/cuda/kernels/acts.cuh"
#include "exec/cuda/kernels/elementwise.cuh"

namespace megalith::cuda {

template <class F>
struct Value {
  __device__ float operator()(float x) const { return F::value(x); }
};
template <class F>
struct TimesSlope {
  __device__ float operator()(float dy, float x) const { return dy * F::slope(x); }
};

template <class T>
struct ActivateGradPointers {
  const T *dy, *x;
  T *dx, *y;
};

// dx and y, in the form of map_kernel.
template <class F, int N, int U, class T>
static __global__ void __launch_bounds__(kMapThreads) grad_with_output_kernel(i64 n, const ActivateGradPointers<T> p) {
  const i64 first = i64(blockIdx.x) * (U * kMapThreads) + threadIdx.x, end = n / N, rest = end * N + threadIdx.x;
  const Packs<T, N, U> dy(p.dy, first, end), x(p.x, first, end);
  map_packs<float, N, U>(TimesSlope<F>{}, p.dx, first, end, dy, x);
  map_packs<float, N, U>(Value<F>{}, p.y, first, end, x);
  if (blockIdx.x == 0 && rest < n) {
    const float d = convert<float>(p.dy[rest]), at = convert<float>(p.x[rest]);
    p.dx[rest] = convert<T>(d * F::slope(at)), p.y[rest] = convert<T>(F::value(at));
  }
}

template <class F, class T>
static void launch_with_output(const ActivateLaunch& l, const ActivateGradPointers<T>& p, cudaStream_t stream) {
  constexpr int N = kPackSize<T>, U = 2;
  const int blocks = std::max(1, blocks_for(l.n / N, U * kMapThreads));
  grad_with_output_kernel<F, N, U><<<blocks, kMapThreads, 0, stream>>>(l.n, p);
}

// 32 threads are next to each other along packs of columns, and kDown along the rows of a chunk.
constexpr int kAcross = 32, kDown = 8, kRows = 4;  // kRows: rows of a thread in flight at once

template <class F, class T, int N>
struct ColumnSums {
  ActivateGradPointers<T> p;
  float sums[N] = {};

  // Rows first, first + kDown, ... below `end`.
  template <bool kWithOutput>
  __device__ void add(i64 first, i64 end, i64 columns, i64 column) {
    Pack<T, N> dy[kRows], x[kRows];
#pragma unroll
    for (int u = 0; u < kRows; ++u)
      if (const i64 r = first + u * kDown; r < end) {
        dy[u] = load_pack<N>(p.dy + r * columns + column);
        x[u] = load_pack<N>(p.x + r * columns + column);
      }
#pragma unroll
    for (int u = 0; u < kRows; ++u)
      if (const i64 r = first + u * kDown; r < end) {
        const Numbers<float, N> at = unpack<float>(x[u]);
        const Pack<T, N> dx = pack<T>(each<float, N>(TimesSlope<F>{}, unpack<float>(dy[u]), at));
        const Numbers<float, N> rounded = unpack<float>(dx);
#pragma unroll
        for (int k = 0; k < N; ++k) sums[k] += rounded.x[k];
        *reinterpret_cast<Pack<T, N>*>(p.dx + r * columns + column) = dx;
        if constexpr (kWithOutput) store_pack(p.y + r * columns + column, each<float, N>(Value<F>{}, at));
      }
  }
};

template <class F, bool kWithOutput, class T>
static __global__ void __launch_bounds__(kAcross* kDown, 2)
    grad_bias_kernel(const __grid_constant__ SumLaunch l, const ActivateGradPointers<T> p, double* partial) {
  constexpr int N = kPackSize<T>;
  __shared__ double sums[kDown][N][kAcross];
  const i64 begin = blockIdx.y * l.chunk, end = min(l.terms, begin + l.chunk);
  const i64 first = i64(blockIdx.x) * (kAcross * N), column = first + threadIdx.x * N;
  ColumnSums<F, T, N> mine{p};
  if (column < l.columns)
    for (i64 r = begin + threadIdx.y; r < end; r += kRows * kDown)
      mine.template add<kWithOutput>(r, end, l.columns, column);
#pragma unroll
  for (int k = 0; k < N; ++k) sums[threadIdx.y][k][threadIdx.x] = mine.sums[k];
  __syncthreads();
  for (int c = threadIdx.y * kAcross + threadIdx.x; c < kAcross * N; c += kAcross * kDown) {
    if (first + c >= l.columns) continue;
    double sum = 0;
    for (int d = 0; d < kDown; ++d) sum += sums[d][c % N][c / N];
    partial[blockIdx.y * l.columns + first + c] = sum;
  }
}

template <class F>
static void with_function(const ActivateLaunch& l, F&& f) {
  with_act(l.act, l.dtype, f);
}

void launch_activate(const ActivateLaunch& l, const void* x, void* y, cudaStream_t stream) {
  with_function(l, [&]<class F, class T>() {
    launch_map(stream, l.n, Value<F>{}, static_cast<T*>(y), static_cast<const T*>(x));
  });
  check_launch("[activate] launch");
}

void launch_activate_grad(const ActivateLaunch& l, const ActivateGradBuffers& b, cudaStream_t stream) {
  if (l.n == 0) return;
  with_function(l, [&]<class F, class T>() {
    const ActivateGradPointers<T> p{static_cast<const T*>(b.dy), static_cast<const T*>(b.x), static_cast<T*>(b.dx),
                                    static_cast<T*>(b.y)};
    if (b.y)
      launch_with_output<F>(l, p, stream);
    else
      launch_map(stream, l.n, TimesSlope<F>{}, p.dx, p.dy, p.x);
  });
  check_launch("[activate_grad] launch");
}

void launch_activate_grad_bias(const ActivateLaunch& l, const SumLaunch& sums, const ActivateGradBuffers& b, void* bias,
                               void* workspace, cudaStream_t stream) {
  double* partial = static_cast<double*>(workspace);
  with_function(l, [&]<class F, class T>() {
    const ActivateGradPointers<T> p{static_cast<const T*>(b.dy), static_cast<const T*>(b.x), static_cast<T*>(b.dx),
                                    static_cast<T*>(b.y)};
    const dim3 grid(unsigned(blocks_for(sums.columns, kAcross * kPackSize<T>)), unsigned(sums.chunks));
    if (b.y)
      grad_bias_kernel<F, true><<<grid, dim3(kAcross, kDown), 0, stream>>>(sums, p, partial);
    else
      grad_bias_kernel<F, false><<<grid, dim3(kAcross, kDown), 0, stream>>>(sums, p, partial);
  });
  launch_finish(sums, partial, bias, stream);
  check_launch("[activate_grad] launch");
}

}  // namespace megalith::cuda
