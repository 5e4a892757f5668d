// What the two kernels of attention_hopper.h share: the block's shape, tiles, scores and results.
#pragma once
#include "exec/cuda/kernels/attention_hopper.h"
#include "exec/cuda/kernels/device_math.cuh"
#include "exec/cuda/kernels/hopper.cuh"

namespace megalith::cuda::hopper {

// A block: a warpgroup that loads and kGroups that multiply, each 64 rows of the block's tile. It has kBuffers places
// for the tile's own tensors, so that the next tile's are loaded ahead where there is room.
template <int D, int kGroups>
struct Block {
  static constexpr int kTile = 64 * kGroups, kThreads = 128 * (kGroups + 1);
  static constexpr int kConsumers = 4 * kGroups;  // warps
  static constexpr int kBuffers = D == 64 ? 2 : 1;
  static constexpr int kRegistersToLoad = 24, kRegistersToMultiply = kGroups == 3 ? 160 : 240;
};

// Of each query: lse * log2(e) and D, as [b, g, r, padded]; beyond the sequence lse is infinite (probability 0).
struct QueryStats {
  float *lse, *d;
  int padded;
};
inline int padded(int s) { return (s + 63) / 64 * 64; }

// A launch's tiles of all samples' heads (or groups), the longest first; as many blocks as there are multiprocessors
// take one each in every round, in an order that turns around each time: so all get as much.
struct Work {
  int tiles, each;  // tiles of one, and how many there are
  int blocks;

  __device__ int count() const { return tiles * each; }
  __device__ int item(int round) const {  // the last is followed by numbers from count() on
    return round * blocks + (round % 2 == 0 ? int(blockIdx.x) : blocks - 1 - int(blockIdx.x));
  }
};
inline Work share(int tiles, i64 each) {
  int device = 0, sms = 0;
  check_cuda(cudaGetDevice(&device), "[attention_grad] device");
  check_cuda(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "[attention_grad] multiprocessors");
  return {tiles, int(each), int(std::min<i64>(tiles * each, sms))};
}

void launch_key_grad(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                     const QueryStats& stats, cudaStream_t stream);
void launch_query_grad(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                       const QueryStats& stats, cudaStream_t stream);

// A warpgroup's 64 rows of a tile, as the first factor of products: narrow ones in registers, which spares shared
// memory's bandwidth; wide ones where they are.
template <int D, int kRows>
struct OwnRows {
  static constexpr bool kInRegisters = D == 64;
  u64 place;
  unsigned held[kInRegisters ? D / 16 : 1][4];

  __device__ OwnRows(const __nv_bfloat16* tile, int row) : place(factor(shared_address(tile + row * 64), 0)) {
    if constexpr (kInRegisters) load_factor<D, kRows>(held, tile, row + int(threadIdx.x) % 128 / 32 * 16);
  }
  // c = these rows times those of b, a tile of kRowsB.
  template <int kRowsB, int N2>
  __device__ void multiply(float (&c)[N2], u64 b) const {
    if constexpr (kInRegisters)
      product_of_rows<D, kRowsB>(c, held, b);
    else
      product_of_rows<D, kRows, kRowsB>(c, place, b);
  }
};

// Rows row.. of D columns from `column` on, as a tile of kRows.
template <int D, int kRows>
__device__ inline void load_tile(__nv_bfloat16* to, const CUtensorMap& map, int column, int row, u64* done) {
#pragma unroll
  for (int box = 0; box < D / 64; ++box)
#pragma unroll
    for (int i = 0; i < kRows; i += 64) load_box(to + (box * kRows + i) * 64, map, column + box * 64, row + i, done);
}

// The compiler knows the result to be the same for all of a warp.
__device__ inline int warpgroup() { return __shfl_sync(0xffffffffu, int(threadIdx.x) / 128, 0); }

// This thread's place in its warpgroup's 64 rows of sums: rows row and row + 8, columns 8j + column and the next.
struct Lane {
  int row, column;
};
__device__ inline Lane lane() {
  return {int(threadIdx.x) % 128 / 32 * 16 + int(threadIdx.x) % 32 / 4, int(threadIdx.x) % 4 * 2};
}

// A warp of a multiplying warpgroup is done with a stage.
__device__ inline void release(u64* barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) arrive(barrier);
}

// Transposes 4 x 4 words of 4 neighbouring lanes: lane i's word k becomes lane k's word i.
__device__ inline void transpose_in_quad(unsigned (&w)[4]) {
  const bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const unsigned got = __shfl_xor_sync(0xffffffffu, odd ? w[i] : w[i + 1], 1);
    (odd ? w[i] : w[i + 1]) = got;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const unsigned got = __shfl_xor_sync(0xffffffffu, high ? w[i] : w[i + 2], 2);
    (high ? w[i] : w[i + 2]) = got;
  }
}

// c, times `scale`, as bf16 to rows at `to`, `stride` elements apart, of which `rows` from this warpgroup's first on
// are there.
template <int D>
__device__ inline void store_sums(__nv_bfloat16* to, i64 stride, int rows, const float (&c)[D / 2], float scale) {
  const Lane at = lane();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = at.row + 8 * half;
#pragma unroll
    for (int j = 0; j < D / 8; j += 4) {
      unsigned w[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int n = 4 * (j + i) + 2 * half;
        const __nv_bfloat162 pair = __floats2bfloat162_rn(c[n] * scale, c[n + 1] * scale);
        w[i] = *reinterpret_cast<const unsigned*>(&pair);
      }
      transpose_in_quad(w);
      if (row < rows)
        *reinterpret_cast<uint4*>(to + row * stride + 8 * j + 4 * at.column) = make_uint4(w[0], w[1], w[2], w[3]);
    }
  }
}

template <class Kernel>
void allow_shared(Kernel kernel, size_t bytes) {
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)),
             "[attention_grad] shared memory");
}

}  // namespace megalith::cuda::hopper
