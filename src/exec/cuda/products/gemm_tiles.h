// Predicts which of cuBLASLt's tiles suit a product best. A large product's tiles are computed in waves, one tile on
// each multiprocessor at a time. A last wave that is not full costs as much as a full one; so do tiles that exceed the
// result. The library's heuristics name at most 8 algorithms for a product. Mostly these have tiles of powers of two,
// which suit widths such as 1600 badly.
#pragma once
#include <span>
#include <vector>

#include "base/dtype.h"

namespace megalith::cuda {

// Sizes in the library's y, which is column-major: its rows are our columns. `id`: the library's name of the tile.
struct GemmTile {
  int id = 0, rows = 0, cols = 0;
};

// Tiles that can keep Hopper's tensor cores busy: one side is a multiple of 64, and they are neither long and thin
// nor small.
std::span<const GemmTile> hopper_tiles();

// In the library's view: y [rows, cols], sums of `depth` terms.
struct TiledProduct {
  i64 rows = 0, cols = 0, depth = 0;
  int sms = 1;
};

// A tile, and the neighbour that shares operands with it: the next tile along y's columns, or along its rows.
struct Cut {
  GemmTile tile;
  bool pairs_along_cols = true;
  double cycles = 0;  // prediction, only good for comparisons
};

// With the pairing that takes fewer cycles; if there is no difference, the one whose pair is squarer.
Cut best_cut(const TiledProduct& product, const GemmTile& tile);

// The best cuts, at most `most`, by tiles that the library has a kernel for (`offered`, ids); the best first. Only cuts
// that are expected to be as fast as the suggested tiles.
std::vector<Cut> promising_cuts(const TiledProduct& product, const std::vector<int>& offered,
                                const std::vector<int>& suggested, int most);

}  // namespace megalith::cuda
