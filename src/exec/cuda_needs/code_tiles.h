// Which casts to codes use tiles of 128 x 128 values that hold whole boxes.
#pragma once
#include <optional>

#include "base/dtype.h"

namespace megalith {
struct Quantize;
}

namespace megalith::cuda {

struct LocalNode;

inline constexpr i64 kCodeTile = 128;  // rows and columns
// minimum rows of a box with several rows; shared memory has no room for more boxes
inline constexpr i64 kLeastBoxRows = 16;

// `outer` matrices [rows, columns] with boxes of box_rows x box_columns. The matrices are consecutive, or `mixed`: row
// 0 of each, then row 1 of each. The grids of scales have the same order. Their transposes are side by side.
struct CodeTiles {
  i64 outer = 1, rows = 1, columns = 1, box_rows = 1, box_columns = 1;
  bool mixed = false;
};

// The rows and columns of x as Quantize transposes it; one row if it does not transpose.
struct CodeMatrix {
  i64 rows = 1, columns = 1;
};
CodeMatrix code_matrix(const Quantize& op, const LocalNode& node);

// Nothing for boxes of other shapes, sizes that are not whole words, f64, and codes of 4 bits.
std::optional<CodeTiles> code_tiles(const Quantize& op, const LocalNode& node);

bool has_box_scales(const Quantize& op);
// Bytes: one scale a box, if tiles are not used.
i64 quantize_workspace(const Quantize& op, const LocalNode& node);

}  // namespace megalith::cuda
