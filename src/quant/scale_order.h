// The memory orders in which cuBLASLt 13.0 reads block scales. Padding is 0.
#pragma once
#include "quant/matrix.h"

namespace megalith::quant {

constexpr i64 filled_to(i64 n, i64 multiple) { return blocks_of(n, multiple) * multiple; }

// For 1 x 128 blocks: scale_inv [rows, blocks] -> [blocks, rows padded to a multiple of 4].
void order_row_scales(In<float> scale_inv, Out<float> out);
// For 128 x 128 blocks: scale_inv [block rows, blocks] -> [block rows, blocks padded to a multiple of 4].
void order_square_scales(In<float> scale_inv, Out<float> out);
// For MXFP8 and NVFP4: scales [rows, blocks] -> tiles of 128 rows and 4 blocks, in row-major order of tiles. In a tile
// row r, block c is byte `(r % 32) * 16 + (r / 32) * 4 + c`.
void order_tiles(In<u8> scales, std::span<u8> out);
constexpr i64 tiles_bytes(i64 rows, i64 blocks) { return filled_to(rows, 128) * filled_to(blocks, 4); }

}  // namespace megalith::quant
