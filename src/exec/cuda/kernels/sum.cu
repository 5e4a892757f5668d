// Columns: 32 threads are next to each other along packs of columns, and 8 along the rows of a chunk. Each thread adds
// kRowsInF32 rows in f32, up to three more at the end. Then it adds these sums in f64. Runs are added in f64 directly.
// Partial sums: [chunks, outputs].
#include "exec/cuda/kernels/sum.h"

#include "exec/cuda/kernels/elementwise.cuh"
#include "exec/cuda/products/loop_table.cuh"

namespace megalith::cuda {

enum { kX = 0, kY = 1 };
constexpr int kAcross = 32, kDown = 8, kRowsInF32 = 60, kUnroll = 4;

// The position in x of the i-th term of an output. kOneLoop: the terms are one loop.
template <bool kOneLoop>
__device__ inline i64 term(const SumLaunch& l, i64 i) {
  return kOneLoop ? i * l.summed.stride[0][kX] : offsets(l.summed, i).at[kX];
}

// part += the rows r, r + kDown, ... of x, U of them.
template <bool kOneLoop, int U, int N, class X>
__device__ inline void add_rows(const SumLaunch& l, const X* x, i64 r, accum_t<X> (&part)[N]) {
  Pack<X, N> rows[U];
#pragma unroll
  for (int u = 0; u < U; ++u) rows[u] = load_pack<N>(x + term<kOneLoop>(l, r + u * kDown));
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const Numbers<accum_t<X>, N> row = unpack<accum_t<X>>(rows[u]);
#pragma unroll
    for (int k = 0; k < N; ++k) part[k] += row.x[k];
  }
}

// total = the rows r, r + kDown, ... below `end`.
template <bool kOneLoop, int N, class X>
__device__ inline void sum_rows(const SumLaunch& l, const X* x, i64 r, i64 end, double (&total)[N]) {
  constexpr i64 kBatch = i64{kUnroll} * kDown;
  while (r < end) {
    accum_t<X> part[N] = {};
    for (int done = 0; done < kRowsInF32 && r + kBatch - kDown < end; done += kUnroll, r += kBatch)
      add_rows<kOneLoop, kUnroll>(l, x, r, part);
    if (r + kBatch - kDown >= end)
      for (; r < end; r += kDown) add_rows<kOneLoop, 1>(l, x, r, part);
#pragma unroll
    for (int k = 0; k < N; ++k) total[k] += double(part[k]);
  }
}

template <class X, int N>
static __global__ void __launch_bounds__(kAcross* kDown, 3)
    columns_kernel(const __grid_constant__ SumLaunch l, const X* x, double* partial) {
  __shared__ double sums[kDown][N][kAcross];
  const i64 tiles = (l.columns + kAcross * N - 1) / (kAcross * N), group = blockIdx.x / tiles;
  const i64 first = (blockIdx.x - group * tiles) * (kAcross * N), column = first + threadIdx.x * N;
  const i64 begin = blockIdx.y * l.chunk, end = min(l.terms, begin + l.chunk);
  double total[N] = {};
  if (column < l.columns) {
    const X* from = x + offsets(l.kept, group).at[kX] + column;
    if (l.summed.count == 1)
      sum_rows<true>(l, from, begin + threadIdx.y, end, total);
    else
      sum_rows<false>(l, from, begin + threadIdx.y, end, total);
  }
#pragma unroll
  for (int k = 0; k < N; ++k) sums[threadIdx.y][k][threadIdx.x] = total[k];
  __syncthreads();
  for (int c = threadIdx.y * kAcross + threadIdx.x; c < kAcross * N; c += kAcross * kDown) {
    if (first + c >= l.columns) continue;
    double sum = 0;
    for (int d = 0; d < kDown; ++d) sum += sums[d][c % N][c / N];
    partial[blockIdx.y * l.outputs + group * l.columns + first + c] = sum;
  }
}

// sums += U packs of x, each `step` elements after the previous one.
template <int U, class X>
__device__ inline void add_packs(const X* x, i64 step, double (&sums)[4]) {
  constexpr int N = kPackSize<X>;
  Pack<X, N> some[U];
#pragma unroll
  for (int u = 0; u < U; ++u) some[u] = load_pack<N>(x + u * step);
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const Numbers<double, N> v = unpack<double>(some[u]);
#pragma unroll
    for (int k = 0; k < N; ++k) sums[k % 4] += v.x[k];
  }
}

// The sum of a chunk of one output's terms by `width` threads; this thread is number `lane`.
template <class X>
__device__ inline double sum_chunk(const SumLaunch& l, const X* x, i64 begin, i64 end, int lane, int width) {
  constexpr int N = kPackSize<X>;
  double sums[4] = {};
  i64 i = begin + lane;
  if (l.packed) {
    const i64 step = i64(width) * N, packed = begin + (end - begin) / N * N;
    i64 p = begin + lane * N;
    for (; p + (kUnroll - 1) * step < packed; p += kUnroll * step) add_packs<kUnroll>(x + p, step, sums);
    for (; p < packed; p += step) add_packs<1>(x + p, step, sums);
    i = packed + lane;
  }
  for (; i < end; i += width) sums[0] += convert<double>(x[l.summed.count == 1 ? term<true>(l, i) : term<false>(l, i)]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// A warp (short) or a block for each output and chunk.
template <class X>
static __global__ void __launch_bounds__(256)
    runs_kernel(const __grid_constant__ SumLaunch l, const X* x, double* partial) {
  __shared__ double parts[32];
  const bool warp = l.terms <= kShortRun;
  const i64 output = warp ? i64(blockIdx.x) * 8 + threadIdx.x / 32 : i64(blockIdx.x);
  const i64 begin = blockIdx.y * l.chunk, end = min(l.terms, begin + l.chunk);
  if (output >= l.outputs) return;  // whole warps return, and only without a block_sum()
  const X* from = x + offsets(l.kept, output).at[kX];
  const int lane = warp ? threadIdx.x % 32 : threadIdx.x;
  double sum = sum_chunk(l, from, begin, end, lane, warp ? 32 : 256);
  sum = warp ? warp_sum(sum) : block_sum(sum, parts);
  if (lane == 0) partial[blockIdx.y * l.outputs + output] = sum;
}

template <class Y>
static __global__ void __launch_bounds__(kAcross* kDown)
    finish_kernel(const __grid_constant__ SumLaunch l, const double* partial, Y* y) {
  __shared__ double sums[kDown][kAcross];
  const i64 output = i64(blockIdx.x) * kAcross + threadIdx.x;
  double sum = 0;
  if (output < l.outputs) {
#pragma unroll 8
    for (i64 c = threadIdx.y; c < l.chunks; c += kDown) sum += partial[c * l.outputs + output];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || output >= l.outputs) return;
  for (int d = 1; d < kDown; ++d) sum += sums[d][threadIdx.x];
  const i64 group = l.columns ? output / l.columns : output, column = l.columns ? output - group * l.columns : 0;
  y[offsets(l.kept, group).at[kY] + column * l.column_step] = convert<Y>(sum);
}

template <class X>
static void launch_partial(const SumLaunch& l, const X* x, double* partial, cudaStream_t stream) {
  const unsigned chunks = unsigned(l.chunks);
  const dim3 threads(kAcross, kDown);
  const auto tiles = [&](int n) { return unsigned(l.groups() * blocks_for(l.columns, kAcross * n)); };
  constexpr int N = 16 / int(sizeof(X));
  if (l.columns && l.packed)
    columns_kernel<X, N><<<dim3(tiles(N), chunks), threads, 0, stream>>>(l, x, partial);
  else if (l.columns)
    columns_kernel<X, 1><<<dim3(tiles(1), chunks), threads, 0, stream>>>(l, x, partial);
  else
    runs_kernel<X><<<dim3(unsigned(blocks_for(l.outputs, l.terms <= kShortRun ? 8 : 1)), chunks), 256, 0, stream>>>(
        l, x, partial);
}

void launch(const SumLaunch& l, const void* x, void* y, void* workspace, cudaStream_t stream) {
  if (l.outputs == 0) return;
  double* partial = static_cast<double*>(workspace);
  dispatch(l.from, [&]<class X>() { launch_partial(l, static_cast<const X*>(x), partial, stream); });
  launch_finish(l, partial, y, stream);
}

void launch_finish(const SumLaunch& l, const double* partial, void* y, cudaStream_t stream) {
  dispatch(l.to, [&]<class Y>() {
    finish_kernel<Y>
        <<<blocks_for(l.outputs, kAcross), dim3(kAcross, kDown), 0, stream>>>(l, partial, static_cast<Y*>(y));
  });
  check_launch("[sum] launch");
}

}  // namespace megalith::cuda
