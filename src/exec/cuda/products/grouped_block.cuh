// Shared parts of a block of the grouped products for Hopper.
#pragma once
#include "exec/cuda/hopper/clusters.cuh"
#include "exec/cuda/products/grouped_tiles.cuh"

namespace megalith::cuda::grouped {

using namespace hopper;

constexpr int kDepth = 64;                           // of the summed index, a stage
constexpr int kGroups = 2, kThreads = 128 * 3;       // multiplying warpgroups, each with 64 rows of the block's tile
constexpr int kPieces = kTileColumns / 64;           // pieces of 64 x 64 of b; a has one for each warpgroup
constexpr int kPiece = 64 * 64, kPieceBytes = 8192;  // elements, bytes
constexpr int kStageBytes = (kGroups + kPieces) * kPieceBytes;
constexpr int kStages = 4, kBuffers = 2;  // stages of loaded factors; buffers for a warpgroup's sums during their store

// forward: c = a b^T of [rows, depth] and [columns, depth]. data_grad: a b of [rows, depth] and [depth, columns].
// weight_grad: a^T b of [depth, rows] and [depth, columns].
enum class Form { forward, data_grad, weight_grad };

// a, b and c in the form of the copy engine: [layers, rows, columns] in boxes of 64 rows x 128 bytes.
struct Launch {
  CUtensorMap a, b, c;
  Tiling tiling;
  int depth;          // of the summed index (for weight gradients: the expert's rows)
  int rows, columns;  // of c (for weight gradients: of one expert)
  void* out;
  bool add;
  int* ticket;  // 0 at the kernel's start
};

// full, tile_full: the data can be read. free: the data has been read. tile_read: the last tile has been read.
struct Shared {
  __nv_bfloat16 a[kStages][kGroups][kPiece], b[kStages][kPieces][kPiece];
  std::byte out[kGroups][kBuffers][kPieceBytes];
  Tile tiles[2];
  u64 full[kStages], free[kStages], tile_full[2], tile_read;
};

__device__ inline void make_barriers(Shared& at) {
  constexpr int kWarps = kGroups * 4;
  for (int i = 0; i < kStages; ++i) make_barrier(&at.full[i], 1), make_barrier(&at.free[i], 2 * kWarps);
  for (u64& full : at.tile_full) make_barrier(&full, 1);
  make_barrier(&at.tile_read, 2 * (1 + kWarps));  // the loading and the multiplying threads of both blocks
  publish_barriers();
}

// The n-th tile of the cluster, for this block.
__device__ inline Tile take_tile(Shared& at, int n) {
  wait(&at.tile_full[n % 2], n / 2 % 2);
  return at.tiles[n % 2];
}
__device__ inline void tile_is_read(Shared& at) { arrive(&at.tile_read, 0); }

// The number of stages of a tile.
template <Form kForm>
__device__ inline int stages_of(const Launch& l, const Tile& t) {
  return ((kForm == Form::weight_grad ? t.rows : l.depth) + kDepth - 1) / kDepth;
}

// A barrier of a warpgroup's threads.
__device__ inline void group_barrier(int group) { asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory"); }

}  // namespace megalith::cuda::grouped
