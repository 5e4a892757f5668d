// Which casts to codes go by tiles of 128 x 128 values that hold whole boxes.
#pragma once
#include <optional>

#include "base/dtype.h"

namespace megalith {
struct Quantize;
}

namespace megalith::cuda {

struct LocalNode;

inline constexpr i64 kLeastBoxRows = 16;  // of more than one: what shared memory has room for

// `outer` matrices [rows, columns] with boxes of box_rows x box_columns. They come one after another, or `mixed`: row
// 0 of each, then row 1 of each. The grids of scales have the same order. Their transposes are side by side.
struct CodeTiles {
  i64 outer = 1, rows = 1, columns = 1, box_rows = 1, box_columns = 1;
  bool mixed = false;
};

// The rows and columns of x as Quantize transposes it; one row if it does not.
struct CodeMatrix {
  i64 rows = 1, columns = 1;
};
CodeMatrix code_matrix(const Quantize& op, const LocalNode& node);

// Nothing: boxes of other shapes, sizes that make no whole words, f64, codes of 4 bits.
std::optional<CodeTiles> code_tiles(const Quantize& op, const LocalNode& node);

bool has_box_scales(const Quantize& op);
// Bytes: a scale for each box, where it goes by no tiles.
i64 quantize_workspace(const Quantize& op, const LocalNode& node);

}  // namespace megalith::cuda
