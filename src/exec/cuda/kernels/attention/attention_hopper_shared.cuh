// The parts of a block of attention_hopper_sums.cuh: its warps, their registers, its shared memory.
#pragma once
#include "exec/cuda/kernels/attention/attention_hopper.cuh"

namespace megalith::cuda::hopper {

constexpr int kGroups = 2,
              kThreads = 128 * (kGroups + 1);  // multiplying warpgroups; the first warpgroup loads and adds
constexpr int kConsumers = 128 * kGroups;      // threads; each arrives by itself
// Registers of each thread: 504 in total, because there are two multiplying warpgroups.
template <int D>
constexpr int kRegistersToMove = D == 64 ? 40 : 24;
template <int D>
constexpr int kRegistersToMultiply = D == 64 ? 232 : 240;

template <int D>
constexpr int kStages = D == 64 ? 5 : 3;  // of queries in shared memory
// The number of warps that add dq, each in its own steps, and of their boxes. With narrow heads a step has one box.
// The wait for the turn, the addition and the signal then take longer than a step.
template <int D>
constexpr int kAdders = D == 64 ? 3 : 2;
// Buffers for the tile's keys. If there is room for two, the next tile's keys load ahead.
template <int D>
constexpr int kBuffers = D == 64 ? 2 : 1;

template <int D>
struct Shared {
  __nv_bfloat16 k[kBuffers<D>][kKeys * D], v[kBuffers<D>][kKeys * D];
  __nv_bfloat16 q[kStages<D>][kQueries * D], dout[kStages<D>][kQueries * D];
  __nv_bfloat16 ds[2][kGroups][kQueries * 64];  // for every other tile of queries, and 64 keys
  float dq[kAdders<D>][kBoxFloats];             // boxes of 64 columns
  float begin[kStages<D>][2][kQueries];
  int position[kStages<D>];  // of the first query
  Work::Item item[kBuffers<D>];
  u64 keys_full[kBuffers<D>], keys_free[kBuffers<D>], full[kStages<D>], free[kStages<D>];
  u64 ds_full[2], ds_free[2], dq_full[kAdders<D>], dq_free[kAdders<D>];

  __device__ void make_barriers() {
    for (int i = 0; i < kBuffers<D>; ++i)
      make_barrier(&keys_full[i], 1), make_barrier(&keys_free[i], kConsumers + kAdders<D>);
    for (int i = 0; i < kStages<D>; ++i) make_barrier(&full[i], 1), make_barrier(&free[i], kConsumers);
    for (int i = 0; i < 2; ++i) make_barrier(&ds_full[i], kConsumers), make_barrier(&ds_free[i], 128 * D / 64);
    for (int i = 0; i < kAdders<D>; ++i) make_barrier(&dq_full[i], 128 * D / 64), make_barrier(&dq_free[i], 1);
    publish_barriers();
  }
};

// A warpgroup's 64 rows of a tile of keys, as the first factor of products. They are in registers, which saves
// bandwidth of shared memory, or stay in shared memory.
template <int D, bool kInRegisters>
struct OwnRows {
  u64 place;
  unsigned held[kInRegisters ? D / 16 : 1][4];

  __device__ OwnRows(const __nv_bfloat16* tile, int row) : place(factor(shared_address(tile + row * 64), 0)) {
    if constexpr (kInRegisters) load_factor<D, kKeys>(held, tile, row + int(threadIdx.x) % 128 / 32 * 16);
  }
  // c += these rows times those of b, a tile of queries.
  __device__ void add_multiplied(float (&c)[kQueries / 2], u64 b) const {
    if constexpr (kInRegisters)
      add_product_of_rows<D, kQueries>(c, held, b);
    else
      add_product_of_rows<D, kKeys, kQueries>(c, place, b);
  }
};

// Rows from `row` on of D columns from `column` on, as a tile of kRows.
template <int D, int kRows>
__device__ inline void load_tile(__nv_bfloat16* to, const CUtensorMap& map, int column, int row, u64* done) {
#pragma unroll
  for (int box = 0; box < D / 64; ++box)
#pragma unroll
    for (int i = 0; i < kRows; i += 64) load_box(to + (box * kRows + i) * 64, map, column + box * 64, row + i, done);
}

}  // namespace megalith::cuda::hopper
