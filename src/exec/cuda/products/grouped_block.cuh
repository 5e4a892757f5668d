// Shared parts of a block of the grouped products for Hopper.
#pragma once
#include <type_traits>

#include "exec/cuda/hopper/clusters.cuh"
#include "exec/cuda/products/grouped_tiles.cuh"

namespace megalith::cuda::grouped {

using namespace hopper;

constexpr int kGroups = 2, kThreads = 128 * 3;  // multiplying warpgroups, each with 64 rows of the block's tile
constexpr int kPieceBytes = 8192;               // of a piece: 64 rows x 128 bytes. a has a piece for each warpgroup
constexpr int kBuffers = 2;                     // buffers for a warpgroup's sums during their store

// A tile's columns, the summed index's values of a stage, and the stages of loaded factors: of bf16, and of fp8 codes.
// Codes are summed in parts, which take more registers. So their tile has half the columns.
template <int kTileColumns, int kStageDepth, int kStageCount>
struct Sizes {
  static constexpr int kColumns = kTileColumns, kDepth = kStageDepth, kStages = kStageCount;
  static constexpr int kPieces = kColumns / 64;  // of b
  static constexpr int kStageBytes = (kGroups + kPieces) * kPieceBytes;
};
using OfValues = Sizes<256, 64, 4>;
using OfCodes = Sizes<128, 128, 6>;

// forward: c = a b^T of [rows, depth] and [columns, depth]. data_grad: a b of [rows, depth] and [depth, columns].
// weight_grad: a^T b of [depth, rows] and [depth, columns]. Codes always have the depth along columns, so they know
// only forward, and weight_grad as a b^T.
enum class Form { forward, data_grad, weight_grad };

// a, b and c in the form of the copy engine: [layers, rows, columns] in boxes of 64 rows x 128 bytes.
struct Launch {
  CUtensorMap a, b, c;
  Tiling tiling;
  int depth;          // of the summed index (for weight gradients: the expert's rows)
  int rows, columns;  // of c (for weight gradients: of one expert)
  void* out;
  bool add;
  int* ticket;                                         // 0 at the kernel's start
  const float *a_scale = nullptr, *b_scale = nullptr;  // of codes
};

// full, tile_full: the data can be read. free: the data has been read. tile_read: the last tile has been read.
template <class Z>
struct Shared {
  std::byte a[Z::kStages][kGroups][kPieceBytes], b[Z::kStages][Z::kPieces][kPieceBytes];
  std::byte out[kGroups][kBuffers][kPieceBytes];
  Tile tiles[2];
  u64 full[Z::kStages], free[Z::kStages], tile_full[2], tile_read;
};

template <class Z>
__device__ inline void make_barriers(Shared<Z>& at) {
  constexpr int kWarps = kGroups * 4;
  for (int i = 0; i < Z::kStages; ++i) make_barrier(&at.full[i], 1), make_barrier(&at.free[i], 2 * kWarps);
  for (u64& full : at.tile_full) make_barrier(&full, 1);
  make_barrier(&at.tile_read, 2 * (1 + kWarps));  // the loading and the multiplying threads of both blocks
  publish_barriers();
}

// The n-th tile of the cluster, for this block.
template <class Z>
__device__ inline Tile take_tile(Shared<Z>& at, int n) {
  wait(&at.tile_full[n % 2], n / 2 % 2);
  return at.tiles[n % 2];
}
template <class Z>
__device__ inline void tile_is_read(Shared<Z>& at) {
  arrive(&at.tile_read, 0);
}

// The copy engine loads codes along columns from multiples of 16 bytes on. So an expert's first stage may begin with
// this many columns of experts before it.
__device__ inline int columns_before(const Tile& t) { return t.begin % 16; }

// The number of stages of a tile.
template <class Z, Form kForm>
__device__ inline int stages_of(const Launch& l, const Tile& t) {
  if (kForm != Form::weight_grad) return (l.depth + Z::kDepth - 1) / Z::kDepth;
  const int before = std::is_same_v<Z, OfCodes> && t.rows > 0 ? columns_before(t) : 0;
  return (before + t.rows + Z::kDepth - 1) / Z::kDepth;
}

// Signals both blocks that a warp has read a stage, because loaded data may be for both.
__device__ inline void release(u64* free) {
  const int lane = int(threadIdx.x) % 32;
  if (lane < 2) arrive(free, lane);
}

// A barrier of a warpgroup's threads.
__device__ inline void group_barrier(int group) { asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory"); }

}  // namespace megalith::cuda::grouped
