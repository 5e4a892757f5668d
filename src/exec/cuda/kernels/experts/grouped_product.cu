// The general kernel: any sizes, f32 arithmetic, 64 x 64 results a block. The grid has the largest possible number of
// tiles. A block finds its expert from the ends of the experts' rows.
#include "exec/cuda/kernels/experts/grouped_product.h"

#include "exec/cuda/kernels/experts/code_types.cuh"
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

namespace {

constexpr int kTile = 64, kDepth = 16, kThreads = 256, kEach = 4;  // kEach: results of a thread, in each direction

template <class T>
__device__ float value(T x) {
  return convert<float>(x);
}
__device__ float value(__nv_fp8_e4m3 x) { return float(x); }
__device__ float value(__nv_fp8_e5m2 x) { return float(x); }

// A matrix whose elements outside are 0.
template <class T>
struct View {
  const T* at;
  i64 rows, columns, row, column;  // sizes and strides
  __device__ float operator()(i64 r, i64 c) const {
    return r < rows && c < columns ? value(at[r * row + c * column]) : 0.0f;
  }
};

// The product of the scales of codes. Of values: 1.
__device__ inline float scale_of(const GroupedBuffers& b) { return b.a_scale ? *b.a_scale * *b.b_scale : 1.0f; }

// y [m, n] (dense rows of n) from (m0, n0) on: scale x a [m, k] b [k, n]. Each element is summed in the order of k.
template <class A, class B, class Y>
__device__ inline void multiply_tile(const View<A>& a, const View<B>& b, i64 m0, i64 n0, float scale, bool add, Y* y) {
  __shared__ float left[kDepth][kTile + 1], right[kDepth][kTile + 1];
  const int across = threadIdx.x % (kTile / kEach), down = threadIdx.x / (kTile / kEach);
  float sum[kEach][kEach] = {};
  for (i64 k0 = 0; k0 < a.columns; k0 += kDepth) {
    for (int i = threadIdx.x; i < kDepth * kTile; i += kThreads) {
      const int k = i % kDepth, m = i / kDepth, n = i % kTile, d = i / kTile;
      left[k][m] = a(m0 + m, k0 + k), right[d][n] = b(k0 + d, n0 + n);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; ++k)
#pragma unroll
      for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j)
          sum[i][j] = fmaf(left[k][down + i * (kTile / kEach)], right[k][across + j * (kTile / kEach)], sum[i][j]);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i)
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const i64 r = m0 + down + i * (kTile / kEach), c = n0 + across + j * (kTile / kEach);
      if (r >= a.rows || c >= b.columns) continue;
      Y* to = y + r * b.columns + c;
      const float product = sum[i][j] * scale;
      *to = convert<Y>(add ? convert<float>(*to) + product : product);
    }
}

// blockIdx.y numbers the tiles of rows of all experts.
template <class A, class B, class Y>
__global__ void __launch_bounds__(kThreads) rows_kernel(GroupedLaunch l, GroupedBuffers b) {
  i64 tile = blockIdx.y, begin = 0, end = 0, e = 0;
  for (; e < l.experts; ++e) {
    begin = end, end = b.ends[e];
    const i64 tiles = (end - begin + kTile - 1) / kTile;
    if (tile < tiles) break;
    tile -= tiles;
  }
  if (e == l.experts) return;
  const View<A> rows{static_cast<const A*>(b.a) + begin * l.in, end - begin, l.in, l.in, 1};
  const B* w = static_cast<const B*>(b.b) + e * l.in * l.out;
  const View<B> weight =
      l.transposed && !l.turned ? View<B>{w, l.in, l.out, l.out, 1} : View<B>{w, l.in, l.out, 1, l.in};
  multiply_tile(rows, weight, tile * kTile, i64(blockIdx.x) * kTile, scale_of(b), b.add,
                static_cast<Y*>(b.y) + begin * l.out);
}

// blockIdx.z is the expert.
template <class A, class B, class Y>
__global__ void __launch_bounds__(kThreads) sums_kernel(GroupedLaunch l, GroupedBuffers b) {
  const i64 e = blockIdx.z, begin = e ? b.ends[e - 1] : 0, rows = b.ends[e] - begin;
  const A* a = static_cast<const A*>(b.a);
  const B* x = static_cast<const B*>(b.b);
  const View<A> left =
      l.turned ? View<A>{a + begin, l.out, rows, l.bound, 1} : View<A>{a + begin * l.out, l.out, rows, 1, l.out};
  const View<B> right =
      l.turned ? View<B>{x + begin, rows, l.in, 1, l.bound} : View<B>{x + begin * l.in, rows, l.in, l.in, 1};
  multiply_tile(left, right, i64(blockIdx.y) * kTile, i64(blockIdx.x) * kTile, scale_of(b), b.add,
                static_cast<Y*>(b.y) + e * l.out * l.in);
}

template <class A, class B, class Y>
void launch_typed(const GroupedLaunch& l, const GroupedBuffers& b, cudaStream_t stream) {
  if (l.sums) {
    const dim3 grid(blocks_for(l.in, kTile), blocks_for(l.out, kTile), unsigned(l.experts));
    sums_kernel<A, B, Y><<<grid, kThreads, 0, stream>>>(l, b);
  } else {
    const dim3 grid(blocks_for(l.out, kTile), unsigned(blocks_for(l.bound, kTile) + l.experts));
    rows_kernel<A, B, Y><<<grid, kThreads, 0, stream>>>(l, b);
  }
}

}  // namespace

void launch(const GroupedLaunch& l, const GroupedBuffers& b, cudaStream_t stream) {
  if (l.experts * l.out * l.in == 0) return;
  if (size_of(l.from) == 1) {
    dispatch_codes(l.from, [&]<class A>() {
      dispatch_codes(l.second, [&]<class B>() {
        dispatch_activation(l.to, [&]<class Y>() { launch_typed<A, B, Y>(l, b, stream); });
      });
    });
  } else {
    dispatch_activation(l.from, [&]<class T>() {
      if (l.to == l.from)
        launch_typed<T, T, T>(l, b, stream);
      else
        launch_typed<T, T, float>(l, b, stream);
    });
  }
  check_launch("[grouped_product] launch");
}

}  // namespace megalith::cuda
