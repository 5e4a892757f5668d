// Tiles in shared memory and their products. A warp has 16 rows of a product. Its sums are in registers in the order
// of the tensor cores' m16n8 products. Of columns `8j..8j+7`, lane l has columns `8j + 2 (l%4)` and the next. Its rows
// are `l/4` (elements 0, 1) and `l/4 + 8` (2, 3). f32 products are plain multiply-adds in the same order, so all other
// code is shared. Rows of tiles are 16 bytes longer than their data, so no two rows of a fragment share a bank.
#pragma once
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

using bfloat = __nv_bfloat16;

// The types of the tensor cores: bf16 and f16.
template <class T>
concept Half = sizeof(T) == 2;

template <class T, int D>
constexpr int kRow = D + 16 / int(sizeof(T));  // elements from one row of a tile to the next

template <int N>
using Sums = float[N / 8][4];

__device__ inline int lane_id() { return threadIdx.x % 32; }
__device__ inline int warp_id() { return threadIdx.x / 32; }
__device__ inline int row_of(int e) { return lane_id() / 4 + 8 * (e / 2); }  // of element e, in the warp's 16
__device__ inline int column_of(int j, int e) { return 8 * j + lane_id() % 4 * 2 + e % 2; }

// Asynchronous copies of 16, 8 or 4 bytes, or of as many zeros.
template <int kBytes>
__device__ inline void copy_ahead(void* to, const void* from, bool real) {
  const unsigned at = unsigned(__cvta_generic_to_shared(to));
  const int bytes = real ? kBytes : 0;
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(kBytes), "r"(bytes));
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Copies `rows` rows of d elements, `stride` apart, to a tile of kRows x D; the rest is zeros. The whole block calls
// it.
template <int D, int kRows, class T>
__device__ void load_tile(T* to, const T* from, i64 stride, int rows, int d) {
  constexpr int kVector = 16 / sizeof(T), kVectors = D / kVector;
  const bool whole_vectors = d % kVector == 0;
  for (int i = threadIdx.x; i < kRows * kVectors; i += blockDim.x) {
    const int row = i / kVectors, column = i % kVectors * kVector;
    T* at = to + row * kRow<T, D> + column;
    const T* x = from + row * stride + column;
    if (whole_vectors) {
      const bool real = row < rows && column < d;
      copy_ahead<16>(at, real ? x : from, real);
    } else {
      for (int e = 0; e < kVector; ++e) at[e] = row < rows && column + e < d ? x[e] : T(0);
    }
  }
}

template <bool kTransposed>
__device__ inline void load_fragment(unsigned (&x)[4], const void* from) {
  const unsigned at = unsigned(__cvta_generic_to_shared(from));
  if constexpr (kTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(at)
                 : "memory");
}
// c[16, 8] += a[16, 16] b[16, 8], with factors of type T
template <Half T>
__device__ inline void tensor_core(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  if constexpr (std::is_same_v<T, __half>)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// Two numbers of type T in a word.
template <Half T>
__device__ inline unsigned pack(float low, float high) {
  if constexpr (std::is_same_v<T, __half>) {
    const __half2 x = __floats2half2_rn(low, high);
    return reinterpret_cast<const unsigned&>(x);
  } else {
    const __nv_bfloat162 x = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const unsigned&>(x);
  }
}

// c[16, N] = a b^T for tiles a (the warp's 16 rows) and b (N rows) of width D.
template <int D, int N, Half T>
__device__ void product_of_rows(Sums<N>& c, const T* a, const T* b) {
  const int lane = lane_id();
  a += lane % 16 * kRow<T, D> + lane / 16 * 8;
  b += (lane % 8 + lane / 16 * 8) * kRow<T, D> + lane / 8 % 2 * 8;
#pragma unroll
  for (int j = 0; j < N / 8; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) c[j][e] = 0;
#pragma unroll
  for (int k = 0; k < D; k += 16) {
    unsigned x[4], y[4];
    load_fragment<false>(x, a + k);
#pragma unroll
    for (int j = 0; j < N / 8; j += 2) {
      load_fragment<false>(y, b + j * 8 * kRow<T, D> + k);
      tensor_core<T>(c[j], x, y[0], y[1]);
      tensor_core<T>(c[j + 1], x, y[2], y[3]);
    }
  }
}
template <int D, int N>
__device__ void product_of_rows(Sums<N>& c, const float* a, const float* b) {
  a += row_of(0) * kRow<float, D>, b += column_of(0, 0) * kRow<float, D>;
#pragma unroll
  for (int j = 0; j < N / 8; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) c[j][e] = 0;
#pragma unroll 2
  for (int k = 0; k < D; k += 4) {
    const float4 x[2] = {*reinterpret_cast<const float4*>(a + k),
                         *reinterpret_cast<const float4*>(a + 8 * kRow<float, D> + k)};
#pragma unroll
    for (int j = 0; j < N / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float4 y = *reinterpret_cast<const float4*>(b + (8 * j + e % 2) * kRow<float, D> + k);
        c[j][e] += x[e / 2].x * y.x;
        c[j][e] += x[e / 2].y * y.y;
        c[j][e] += x[e / 2].z * y.z;
        c[j][e] += x[e / 2].w * y.w;
      }
  }
}

// `c[16, W] += a b` for a [16, N] in registers, and columns `0..W-1` of the tile b (N rows of width D). `stash`: [16,
// N] in the warp's own shared memory, for f32 only.
template <int D, int W, int N, Half T>
__device__ void add_product(Sums<W>& c, const Sums<N>& a, const T* b, float*) {
  b += lane_id() % 16 * kRow<T, D> + lane_id() / 16 * 8;
#pragma unroll
  for (int k = 0; k < N / 16; ++k) {
    const float(&low)[4] = a[2 * k], (&high)[4] = a[2 * k + 1];
    const unsigned x[4] = {pack<T>(low[0], low[1]), pack<T>(low[2], low[3]), pack<T>(high[0], high[1]),
                           pack<T>(high[2], high[3])};
#pragma unroll
    for (int j = 0; j < W / 8; j += 2) {
      unsigned y[4];
      load_fragment<true>(y, b + k * 16 * kRow<T, D> + j * 8);
      tensor_core<T>(c[j], x, y[0], y[1]);
      tensor_core<T>(c[j + 1], x, y[2], y[3]);
    }
  }
}
template <int D, int W, int N>
__device__ void add_product(Sums<W>& c, const Sums<N>& a, const float* b, float* stash) {
  __syncwarp();
#pragma unroll
  for (int j = 0; j < N / 8; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) stash[row_of(e) * (N + 1) + column_of(j, e)] = a[j][e];
  __syncwarp();
#pragma unroll 2
  for (int k = 0; k < N; ++k) {
    const float x[2] = {stash[row_of(0) * (N + 1) + k], stash[row_of(2) * (N + 1) + k]};
#pragma unroll
    for (int j = 0; j < W / 8; ++j) {
      const float2 y = *reinterpret_cast<const float2*>(b + k * kRow<float, D> + column_of(j, 0));
      c[j][0] += x[0] * y.x, c[j][1] += x[0] * y.y;
      c[j][2] += x[1] * y.x, c[j][3] += x[1] * y.y;
    }
  }
}
template <class T, int N>
constexpr int kStashBytes = std::is_same_v<T, float> ? 16 * (N + 1) * 4 : 0;  // of one warp

// Stores columns `first..first+W-1` of one of the warp's rows, times k, to a row of d elements. i: the lane's row, 0 or
// 1.
template <int W, class T>
__device__ void store_row(T* to, int first, int d, const Sums<W>& c, int i, float k) {
#pragma unroll
  for (int j = 0; j < W / 8; ++j) {
    const int column = first + column_of(j, 0);
    const float low = c[j][2 * i] * k, high = c[j][2 * i + 1] * k;
    if (d % 2 == 0 && column < d) {
      if constexpr (std::is_same_v<T, float>)
        *reinterpret_cast<float2*>(to + column) = make_float2(low, high);
      else
        *reinterpret_cast<unsigned*>(to + column) = pack<T>(low, high);
    } else {
      if (column < d) to[column] = T(low);
      if (column + 1 < d) to[column + 1] = T(high);
    }
  }
}

// Loads a row of d elements into the lane's part of one of the warp's rows. i: the lane's row, 0 or 1. Elements beyond
// d keep their values.
template <int W>
__device__ void load_row(Sums<W>& c, const float* from, int d, int i) {
#pragma unroll
  for (int j = 0; j < W / 8; ++j) {
    const int column = column_of(j, 0);
    if (column < d) c[j][2 * i] = from[column];
    if (column + 1 < d) c[j][2 * i + 1] = from[column + 1];
  }
}

}  // namespace megalith::cuda
