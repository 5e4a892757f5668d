#include "exec/cuda/products/gemm_tiles.h"

#include <cublasLt.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace megalith::cuda {

namespace {

constexpr double kProductsPerCycle = 2048;  // of a multiprocessor's tensor cores, dense bf16
// The cost of a tile besides its sum, in terms of the sum: its start, and the write of the result. With a large tile
// there are no registers to begin the next tile meanwhile. From measured cycles of products of width 1600.
constexpr double kTermsMore = 100, kTermsMoreOfLarge = 250;
constexpr int kLarge = 128 * 192;

constexpr GemmTile kTiles[] = {
#define TILE(rows, cols) \
  { CUBLASLT_MATMUL_TILE_##rows##x##cols, rows, cols }
    TILE(80, 256),  TILE(80, 320),  TILE(88, 192),  TILE(88, 256),  TILE(88, 320),  TILE(96, 192),  TILE(96, 256),
    TILE(96, 320),  TILE(104, 192), TILE(104, 256), TILE(104, 320), TILE(112, 192), TILE(112, 256), TILE(112, 320),
    TILE(120, 192), TILE(120, 256), TILE(120, 320), TILE(128, 128), TILE(128, 136), TILE(128, 144), TILE(128, 152),
    TILE(128, 160), TILE(128, 168), TILE(128, 176), TILE(128, 184), TILE(128, 192), TILE(128, 200), TILE(128, 208),
    TILE(128, 216), TILE(128, 224), TILE(128, 232), TILE(128, 240), TILE(128, 248), TILE(128, 256), TILE(128, 320),
    TILE(136, 128), TILE(136, 192), TILE(136, 256), TILE(144, 128), TILE(144, 192), TILE(144, 256), TILE(152, 128),
    TILE(152, 192), TILE(152, 256), TILE(160, 128), TILE(160, 192), TILE(160, 256), TILE(168, 128), TILE(168, 192),
    TILE(176, 128), TILE(176, 192), TILE(184, 128), TILE(184, 192), TILE(192, 88),  TILE(192, 96),  TILE(192, 104),
    TILE(192, 112), TILE(192, 120), TILE(192, 128), TILE(192, 136), TILE(192, 144), TILE(192, 152), TILE(192, 160),
    TILE(192, 168), TILE(192, 176), TILE(192, 184), TILE(192, 192), TILE(192, 200), TILE(192, 208), TILE(200, 128),
    TILE(200, 192), TILE(208, 128), TILE(208, 192), TILE(216, 128), TILE(224, 128), TILE(232, 128), TILE(240, 128),
    TILE(248, 128), TILE(256, 80),  TILE(256, 88),  TILE(256, 96),  TILE(256, 104), TILE(256, 112), TILE(256, 120),
    TILE(256, 128), TILE(256, 136), TILE(256, 144), TILE(256, 152), TILE(256, 160), TILE(320, 80),  TILE(320, 88),
    TILE(320, 96),  TILE(320, 104), TILE(320, 112), TILE(320, 120), TILE(320, 128)
#undef TILE
};

i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }

double cycles_of(const TiledProduct& p, const GemmTile& t, bool pairs_along_cols) {
  i64 rows = ceil_div(p.rows, t.rows), cols = ceil_div(p.cols, t.cols);
  i64& paired = pairs_along_cols ? cols : rows;
  paired += paired % 2;
  const double waves = double(ceil_div(rows * cols, p.sms)), area = t.rows * t.cols;
  const double terms = double(p.depth) + (area > kLarge ? kTermsMoreOfLarge : kTermsMore);
  return waves * area * terms / kProductsPerCycle;
}

const GemmTile* find(int id) {
  const auto it = std::ranges::find(kTiles, id, &GemmTile::id);
  return it == std::end(kTiles) ? nullptr : it;
}

}  // namespace

std::span<const GemmTile> hopper_tiles() { return kTiles; }

Cut best_cut(const TiledProduct& product, const GemmTile& tile) {
  const double cols = cycles_of(product, tile, true), rows = cycles_of(product, tile, false);
  const bool along_cols = cols == rows ? tile.cols <= tile.rows : cols < rows;
  return {tile, along_cols, std::min(cols, rows)};
}

std::vector<Cut> promising_cuts(const TiledProduct& product, const std::vector<int>& offered,
                                const std::vector<int>& suggested, int most) {
  double limit = std::numeric_limits<double>::infinity();
  for (int id : suggested)
    if (const GemmTile* t = find(id)) limit = std::min(limit, best_cut(product, *t).cycles);
  std::vector<Cut> cuts;
  for (int id : offered)
    if (const GemmTile* t = find(id))
      if (const Cut c = best_cut(product, *t); c.cycles <= limit) cuts.push_back(c);
  // Among equal cuts the squarer one reads less: it has the smaller rows plus columns.
  std::ranges::sort(cuts, {}, [](const Cut& c) { return std::tuple(c.cycles, c.tile.rows + c.tile.cols, c.tile.id); });
  if (i64(cuts.size()) > most) cuts.resize(size_t(most));
  return cuts;
}

}  // namespace megalith::cuda
