// A first kernel sums the squares of each chunk. Then blocks add the chunks of their matrix in a fixed order, and
// divide.
#include "exec/cuda/kernels/elementwise.cuh"
#include "exec/cuda/kernels/update/normalize.h"

namespace megalith::cuda {

constexpr int kThreads = 256;
constexpr i64 kChunk = kNormalizeChunk;  // elements of a block
constexpr i64 kMostRows = 65535;         // of a grid

static i64 chunks_of(const NormalizeLaunch& l) { return (l.n + kChunk - 1) / kChunk; }

i64 normalize_partials(const NormalizeLaunch& l) { return stacked_partials(l.stack, l.n); }

template <class X>
static __global__ void __launch_bounds__(kThreads) squares_kernel(i64 n, const X* x, double* partials) {
  __shared__ double parts[32];
  const i64 begin = blockIdx.x * kChunk, end = min(n, begin + kChunk);
  x += blockIdx.y * n;
  double sum = 0;
#pragma unroll 8
  for (i64 i = begin + threadIdx.x; i < end; i += kThreads) {
    const double v = convert<double>(x[i]);
    sum = fma(v, v, sum);
  }
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) partials[i64(blockIdx.y) * gridDim.x + blockIdx.x] = sum;
}

template <class X>
static __global__ void __launch_bounds__(kThreads)
    normalize_kernel(i64 n, double eps, const X* x, const double* partials, X* y) {
  __shared__ double parts[32];
  double squares = 0;
  for (i64 i = threadIdx.x; i < gridDim.x; i += kThreads) squares += partials[i64(blockIdx.y) * gridDim.x + i];
  squares = block_sum(squares, parts);
  const float scale = float(1 / fmax(sqrt(squares), eps));
  const i64 begin = blockIdx.x * kChunk, end = min(n, begin + kChunk);
  x += blockIdx.y * n, y += blockIdx.y * n;
#pragma unroll 8
  for (i64 i = begin + threadIdx.x; i < end; i += kThreads) y[i] = convert<X>(scale * convert<float>(x[i]));
}

void launch(const NormalizeLaunch& l, const void* x, double* partials, void* y, cudaStream_t stream) {
  const i64 chunks = chunks_of(l);
  dispatch_activation(l.dtype, [&]<class X>() {
    for (i64 k = 0; k < l.stack && chunks > 0; k += kMostRows) {
      const dim3 grid(unsigned(chunks), unsigned(std::min(kMostRows, l.stack - k)));
      const X* from = static_cast<const X*>(x) + k * l.n;
      squares_kernel<X><<<grid, kThreads, 0, stream>>>(l.n, from, partials + k * chunks);
      normalize_kernel<X>
          <<<grid, kThreads, 0, stream>>>(l.n, l.eps, from, partials + k * chunks, static_cast<X*>(y) + k * l.n);
    }
  });
  check_launch("[normalize] launch");
}

}  // namespace megalith::cuda
