// Two threads of a block: one distributes tiles to the cluster, and one starts the copies of factors in advance.
#pragma once
#include "exec/cuda/products/grouped_block.cuh"

namespace megalith::cuda::grouped {

// A tile is fetched when the loading thread is this many stages before the end of the previous tile.
constexpr int kEarly = 6;

// Runs in the cluster's first block. Tiles are fetched one by one, so clusters are never far apart in the order of
// tiles. Then factors that one cluster has loaded are still in the second-level cache for the others.
template <class Z>
__device__ inline void deal(const Launch& l, Shared<Z>& at) {
  Walk walk(l.tiling);
  for (int n = 0;; ++n) {
    if (n > 0) wait(&at.tile_read, (n - 1) % 2);
    const Tile t = walk.find(atomicAdd(l.ticket, 1));
    for (int to = 0; to < 2; ++to) {
      const int down = t.below ? to : 0;
      send(&at.tiles[n % 2],
           {{t.expert, t.begin, t.rows, t.row_tile + down}, {t.column_tile + to - down, t.below, 0, 0}},
           &at.tile_full[n % 2], to);
    }
    if (t.expert < 0) return;
  }
}

template <class Z, Form kForm>
struct Loads {
  static constexpr bool kWeightGrad = kForm == Form::weight_grad, kCodes = std::is_same_v<Z, OfCodes>;
  static constexpr int kDepth = Z::kDepth, kPieces = Z::kPieces;

  const Launch& l;
  Shared<Z>& at;
  int rank;  // of the cluster's two blocks

  __device__ void run() const {
    Turn<Z::kStages> stage;
    for (int n = 0;; ++n) {
      const Tile t = take_tile(at, n);
      if (t.expert < 0) return;
      const int until = stages_of<Z, kForm>(l, t), early = max(until - kEarly, 0);
      if (until == 0) tile_is_read(at);
      for (int i = 0; i < until; ++i, stage.next()) {
        if (i == early) tile_is_read(at);
        wait(&at.free[stage.stage], stage.parity ^ 1);
        announce(&at.full[stage.stage], Z::kStageBytes);
        load_stage(t, i * kDepth, stage.stage);
      }
    }
  }

 private:
  // From `depth` on. The factor that the two tiles share goes to both blocks.
  __device__ void load_stage(const Tile& t, int depth, int s) const {
    if (t.below) {
      for (int p = 0; p < kGroups; ++p) load_a(t, depth, p, s, false);
      for (int p = 0; p < kPieces / 2; ++p) load_b(t, depth, rank * (kPieces / 2) + p, s, true);
    } else {
      load_a(t, depth, rank, s, true);
      for (int p = 0; p < kPieces; ++p) load_b(t, depth, p, s, false);
    }
  }
  __device__ void load_a(const Tile& t, int depth, int p, int s, bool shared) const {
    const int row = t.row_tile * kTileRows + 64 * p;
    if (kWeightGrad && kCodes)
      load(at.a[s][p], l.a, t.begin - columns_before(t) + depth, row, 0, s, shared);
    else if (kWeightGrad)
      load(at.a[s][p], l.a, row, t.begin + depth, 0, s, shared);
    else
      load(at.a[s][p], l.a, depth, t.begin + row, 0, s, shared);
  }
  __device__ void load_b(const Tile& t, int depth, int p, int s, bool shared) const {
    const int column = t.column_tile * Z::kColumns + 64 * p;
    if (kWeightGrad && kCodes)
      load(at.b[s][p], l.b, t.begin - columns_before(t) + depth, column, 0, s, shared);
    else if (kForm == Form::forward)
      load(at.b[s][p], l.b, depth, column, t.expert, s, shared);
    else if (kForm == Form::data_grad)
      load(at.b[s][p], l.b, column, depth, t.expert, s, shared);
    else
      load(at.b[s][p], l.b, column, t.begin + depth, 0, s, shared);
  }
  __device__ void load(void* to, const CUtensorMap& map, int column, int row, int layer, int s, bool shared) const {
    if (shared)
      load_box_to_all(to, map, column, row, layer, &at.full[s], 3);
    else
      load_box(to, map, column, row, layer, &at.full[s]);
  }
};

}  // namespace megalith::cuda::grouped
