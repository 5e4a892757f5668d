#include "quant/scale_order.h"

#include <algorithm>

namespace megalith::quant {

void order_row_scales(In<float> scale_inv, Out<float> out) {
  want_sizes("scales in rows", out, scale_inv.cols, filled_to(scale_inv.rows, 4));
  std::ranges::fill(out.at, 0.0f);
  for (i64 r = 0; r < scale_inv.rows; ++r)
    for (i64 b = 0; b < scale_inv.cols; ++b) out(b, r) = scale_inv(r, b);
}

void order_square_scales(In<float> scale_inv, Out<float> out) {
  want_sizes("scales of squares", out, scale_inv.rows, filled_to(scale_inv.cols, 4));
  std::ranges::fill(out.at, 0.0f);
  for (i64 r = 0; r < scale_inv.rows; ++r)
    for (i64 b = 0; b < scale_inv.cols; ++b) out(r, b) = scale_inv(r, b);
}

void order_tiles(In<u8> scales, std::span<u8> out) {
  constexpr i64 kRows = 128, kBlocks = 4;
  check(i64(out.size()) == tiles_bytes(scales.rows, scales.cols), "tiles of [{}, {}] scales are {} bytes, not {}",
        scales.rows, scales.cols, tiles_bytes(scales.rows, scales.cols), out.size());
  std::ranges::fill(out, u8{0});
  const i64 across = blocks_of(scales.cols, kBlocks);
  for (i64 r = 0; r < scales.rows; ++r)
    for (i64 b = 0; b < scales.cols; ++b) {
      const i64 tile = r / kRows * across + b / kBlocks, row = r % kRows;
      out[size_t(tile * kRows * kBlocks + row % 32 * 16 + row / 32 * 4 + b % kBlocks)] = scales(r, b);
    }
}

}  // namespace megalith::quant
