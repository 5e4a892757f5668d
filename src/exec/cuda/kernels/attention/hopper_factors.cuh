// Attention's use of Hopper's products: factors in registers, and products of whole tiles.
#pragma once
#include "exec/cuda/hopper/products.cuh"

namespace megalith::cuda::hopper {

// Rounds sums to bf16, as the factor `a` of a product over their N columns. The registers of a[i] correspond to the
// sums of 16 columns, pair by pair.
template <int N>
__device__ inline void to_factor(unsigned (&a)[N / 16][4], const float (&c)[N / 2]) {
#pragma unroll
  for (int i = 0; i < N / 16; ++i)
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(c[8 * i + 2 * k], c[8 * i + 2 * k + 1]);
      a[i][k] = *reinterpret_cast<const unsigned*>(&pair);
    }
}

// c += a b^T of tiles of D columns: 64 rows of a, N of b. kRows: rows of the tiles that contain them.
template <int D, int kRowsA, int kRowsB, int N2>
__device__ inline void add_product_of_rows(float (&c)[N2], u64 a, u64 b) {
#pragma unroll
  for (int i = 0; i < D / 16; ++i) {
    const int box = i / 4, within = i % 4 * 32;
    wgmma<false>(c, a + (box * kRowsA * 128 + within) / 16, b + (box * kRowsB * 128 + within) / 16, 1);
  }
}

// The same with a's rows in registers.
template <int D, int kRowsB, int N2>
__device__ inline void add_product_of_rows(float (&c)[N2], const unsigned (&a)[D / 16][4], u64 b) {
#pragma unroll
  for (int i = 0; i < D / 16; ++i) wgmma<false>(c, a[i], b + (i / 4 * kRowsB * 128 + i % 4 * 32) / 16, 1);
}

// Loads a warp's 16 rows, from `row` on, of a tile of kRows x D as a factor in registers.
template <int D, int kRows>
__device__ inline void load_factor(unsigned (&a)[D / 16][4], const __nv_bfloat16* tile, int row) {
  const int lane = int(threadIdx.x) % 32, mine = row + lane % 16;  // the row whose 16 bytes this lane addresses
#pragma unroll
  for (int i = 0; i < D / 16; ++i) {
    const int piece = (i % 4 * 2 + lane / 16) ^ mine % 8;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3])
                 : "r"(shared_address(tile) + (i / 4 * kRows + mine) * 128 + piece * 16)
                 : "memory");
  }
}

// Stores the transpose of 16 rows and N columns of sums, in the form of to_factor: a warp's 16 columns, from `column`
// on, of a box of 64 columns.
template <int N16>
__device__ inline void store_transposed(__nv_bfloat16* box, int column, const unsigned (&a)[N16][4]) {
  const int lane = int(threadIdx.x) % 32, row = lane / 16 * 8 + lane % 8,
            piece = (column / 8 + lane / 8 % 2) ^ lane % 8;
#pragma unroll
  for (int i = 0; i < N16; ++i)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     shared_address(box) + (16 * i + row) * 128 + piece * 16),
                 "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3])
                 : "memory");
}

// c = a b, where a is a tile of 64 x kSummed, b one of kSummed rows.
template <int kSummed, int N2>
__device__ inline void product(float (&c)[N2], u64 a, u64 b) {
#pragma unroll
  for (int i = 0; i < kSummed / 16; ++i)
    wgmma<true>(c, a + (i / 4 * 64 * 128 + i % 4 * 32) / 16, b + i * 16 * 128 / 16, i > 0);
}

// c += a b, where b is a tile of N rows.
template <int N16, int D2>
__device__ inline void add_product(float (&c)[D2], const unsigned (&a)[N16][4], u64 b) {
#pragma unroll
  for (int i = 0; i < N16; ++i) wgmma<true>(c, a[i], b + i * 16 * 128 / 16, 1);
}

}  // namespace megalith::cuda::hopper
