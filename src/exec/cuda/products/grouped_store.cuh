// The store of a warpgroup's sums: 64 rows x the tile's columns, box by box through shared memory, by the copy engine.
#pragma once
#include "exec/cuda/products/grouped_block.cuh"

namespace megalith::cuda::grouped {

// The destination of a warpgroup's sums: rows of c, of which `rows` exist (0: none), from `column` on.
struct Place {
  int layer, row, rows, column;
};
// A thread's part of a box of 64 rows x 128 bytes, in wgmma's order. Of 8 columns of 16 rows, lane l has one or two
// words of row `l/4`. It has as many of row `l/4 + 8`.
using Box = unsigned[16];

template <class Z, bool kWeightGrad>
struct Stores {
  static constexpr int kColumns = kWeightGrad ? 32 : 64;  // columns of a box
  static constexpr int kBoxes = Z::kColumns / kColumns;

  const Launch& l;
  Shared<Z>& at;
  int group;  // index of the warpgroup

  // This thread's part of box i of the sums, in c's type.
  __device__ static void take(Box& w, const float (&c)[Z::kColumns / 2], int i) {
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      if (kWeightGrad) {
        // A separate register, because c becomes the sums of new products while this one waits.
        asm volatile("mov.b32 %0, %1;" : "=r"(w[k]) : "f"(c[16 * i + k]));
      } else {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(c[32 * i + 2 * k], c[32 * i + 2 * k + 1]);
        w[k] = *reinterpret_cast<const unsigned*>(&pair);
      }
    }
  }
  // Stores box i.
  __device__ void put(const Place& place, int i, const Box& w) const {
    const int column = place.column + i * kColumns;
    if (place.rows <= 0 || column >= l.columns) return;
    const bool leads = threadIdx.x % 128 == 0;
    std::byte* box = at.out[group][i % kBuffers];
    if (leads) wait_until_read<kBuffers - 1>();
    group_barrier(group);
    write(box, w);
    order_shared();
    group_barrier(group);
    if (!kWeightGrad && place.rows < 64)
      copy_rows(place, column, box);
    else if (leads && kWeightGrad && l.add)
      add_box(l.c, box, column, place.row, place.layer);
    else if (leads)
      store_box(l.c, box, column, place.row, place.layer);
    if (leads) commit_writes();
  }
  __device__ void put_zeros(const Place& place) const {
    const Box zeros{};
    for (int i = 0; i < kBoxes; ++i) put(place, i, zeros);
  }

 private:
  __device__ static void write(std::byte* box, const Box& w) {
    const int lane = int(threadIdx.x) % 32, first = int(threadIdx.x) % 128 / 32 * 16;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (kWeightGrad) {
        const int row = first + lane / 4, piece = (2 * k + lane % 4 / 2) ^ (row % 8);
        std::byte* to = box + row * 128 + piece * 16 + lane % 2 * 8;
        *reinterpret_cast<uint2*>(to) = uint2{w[4 * k], w[4 * k + 1]};
        *reinterpret_cast<uint2*>(to + 8 * 128) = uint2{w[4 * k + 2], w[4 * k + 3]};
      } else {
        const int row = first + lane % 16, piece = (2 * k + lane / 16) ^ (row % 8);
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(box) +
                                                                                              row * 128 + piece * 16),
                     "r"(w[4 * k]), "r"(w[4 * k + 1]), "r"(w[4 * k + 2]), "r"(w[4 * k + 3])
                     : "memory");
      }
    }
  }
  // Stores a box with fewer rows, because the next rows belong to the next expert. It uses ordinary stores.
  __device__ void copy_rows(const Place& place, int column, const std::byte* box) const {
    const int piece = int(threadIdx.x) % 8;
    if (column + piece * 8 >= l.columns) return;
    __nv_bfloat16* to = static_cast<__nv_bfloat16*>(l.out) + i64(place.row) * l.columns + column + piece * 8;
    for (int row = int(threadIdx.x) % 128 / 8; row < place.rows; row += 16)
      *reinterpret_cast<uint4*>(to + i64(row) * l.columns) =
          *reinterpret_cast<const uint4*>(box + row * 128 + (piece ^ row % 8) * 16);
  }
};

}  // namespace megalith::cuda::grouped
