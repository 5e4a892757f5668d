// Which of cuBLASLt's tiles should cut a product best. A large product's tiles are computed in waves, one tile on each
// multiprocessor at a time. The last wave costs as much as a full one; so do tiles that stick out of the result. The
// library's heuristics name at most 8 ways to compute a product. Mostly these have tiles of powers of two, which fit
// widths such as 1600 badly.
#pragma once
#include <span>
#include <vector>

#include "base/dtype.h"

namespace megalith::cuda {

// Of the library's y, which is column-major: its rows are our columns. `id`: the library's name for it.
struct GemmTile {
  int id = 0, rows = 0, cols = 0;
};

// Tiles that can keep Hopper's tensor cores busy: one side is a multiple of 64, and they are neither long and thin
// nor small.
std::span<const GemmTile> hopper_tiles();

// As the library sees it: y [rows, cols], sums of `depth` terms.
struct TiledProduct {
  i64 rows = 0, cols = 0, depth = 0;
  int sms = 1;
};

// A tile, and which of its neighbours shares operands with it: the next one along y's columns, or along its rows.
struct Cut {
  GemmTile tile;
  bool pairs_along_cols = true;
  double cycles = 0;  // as predicted: good for an order, not for more
};

// By the pairing with fewer cycles; if there is no difference, by that which makes a pair squarer.
Cut best_cut(const TiledProduct& product, const GemmTile& tile);

// The best `most` cuts by tiles for which the library has a kernel (`offered`, ids), best first. Only cuts that are
// expected to be as fast as the suggested tiles.
std::vector<Cut> promising_cuts(const TiledProduct& product, const std::vector<int>& offered,
                                const std::vector<int>& suggested, int most);

}  // namespace megalith::cuda
