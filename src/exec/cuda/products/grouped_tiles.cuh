// The tiles of a grouped product, in the order in which clusters of two blocks take them. A block has a tile of 128
// rows x 256 columns (of codes: 128). The cluster's two tiles share a factor; each block loads half of it for both.
// Usually the two tiles have the same columns and are one below the other. If an expert has an odd number of tile rows,
// its last row's tiles are next to each other.
#pragma once
#include "exec/cuda/launch.cuh"

namespace megalith::cuda::grouped {

constexpr int kTileRows = 128;
constexpr int kSet = 8;  // pairs of rows of tiles, below

// The inputs of the order. For weight gradients each expert has `fixed_row_tiles`, and its rows are the summed index.
// Otherwise (0) the expert's rows are tiled. rows: ends above it are cut to it.
struct Tiling {
  const int* ends;
  int experts, rows, fixed_row_tiles, column_tiles;
};

// A block's tile. expert -1: no tile is left. below: the other block's tile is above or below it, not next to it.
struct alignas(16) Tile {
  int expert, begin, rows;  // the expert's rows
  int row_tile, column_tile;
  int below;
  int unused[2];
};

// Finds tiles by their rising tickets. Pairs of rows of tiles form sets, and the tiles of a set come column by
// column. So concurrent tiles have few different rows and columns, which fit in the second-level cache.
class Walk {
 public:
  explicit __device__ Walk(const Tiling& z) : z_(z) {}

  // The tile of the cluster's first block.
  __device__ Tile find(int ticket) {
    while (ticket >= before_ + items_) {
      if (++expert_ >= z_.experts) return {-1};
      before_ += items_, begin_ = end_;
      end_ = min(max(__ldg(z_.ends + expert_), begin_), z_.rows);
      row_tiles_ = z_.fixed_row_tiles ? z_.fixed_row_tiles : (end_ - begin_ + kTileRows - 1) / kTileRows;
      items_ = row_tiles_ / 2 * z_.column_tiles + row_tiles_ % 2 * ((z_.column_tiles + 1) / 2);
    }
    Tile tile{expert_, begin_, end_ - begin_};
    place(ticket - before_, tile);
    return tile;
  }

 private:
  // The expert's item i. Sets have `small` pairs or one more, the larger ones first. The last set also has the odd
  // row.
  __device__ void place(int i, Tile& tile) const {
    const int pairs = row_tiles_ / 2, columns = z_.column_tiles, sets = max((pairs + kSet - 1) / kSet, 1);
    const int small = pairs / sets, larger = pairs % sets;
    int size = small + 1, before = 0, odd = 0, set = 0;  // pairs in the item's set, and in all sets before it
    if (i < larger * size * columns) {
      set = i / (size * columns);
    } else {
      i -= larger * size * columns, before = larger * size, size = small;
      if (size > 0) set = min(i / (size * columns), sets - larger - 1);
      odd = set == sets - larger - 1 ? row_tiles_ % 2 : 0;
    }
    before += set * size, i -= set * size * columns;
    const int of_two = 2 * size + odd, column = i / of_two * 2;  // items of two columns; the first of these columns
    i %= of_two;
    tile.below = i < (column + 1 < columns ? 2 * size : size);
    const int second = tile.below && i >= size;
    tile.row_tile = tile.below ? 2 * (before + i - second * size) : row_tiles_ - 1;
    tile.column_tile = column + second;
  }

  const Tiling& z_;
  int expert_ = -1, before_ = 0, items_ = 0, begin_ = 0, end_ = 0, row_tiles_ = 0;
};

}  // namespace megalith::cuda::grouped
