#include "quant/blocks.h"

#include <algorithm>
#include <type_traits>

#include "quant/cast.h"
#include "quant/scale.h"

namespace megalith::quant {
namespace {

// Blocks of `height` rows and 128 columns.
template <class T>
void quantize_blocks(const BlockRule& rule, i64 height, In<T> x, Out<u8> codes, Out<float> scale_inv) {
  want_sizes("codes of blocks", codes, x.rows, x.cols);
  want_sizes("scales of blocks", scale_inv, blocks_of(x.rows, height), blocks_of(x.cols, kBlock));
  const ScaleRule of_block = {.power_of_two = rule.power_of_two,
                              .at_overflow = std::is_same_v<T, bf16> ? kBf16Max : kF32Max};
  for (i64 i = 0; i < scale_inv.rows; ++i)
    for (i64 j = 0; j < scale_inv.cols; ++j) {
      const i64 rows_end = std::min(x.rows, (i + 1) * height), begin = j * kBlock,
                length = std::min(x.cols, begin + kBlock) - begin;
      const auto row = [&](auto m, i64 r) { return m.at.subspan(size_t(r * x.cols + begin), size_t(length)); };
      float amax = 0;
      for (i64 r = i * height; r < rows_end; ++r) amax = larger(amax, amax_of<T>(row(x, r)));
      const float scale = current_scale(amax, largest_of(rule.format), of_block);
      for (i64 r = i * height; r < rows_end; ++r) cast<T>(rule.format, row(x, r), scale, row(codes, r));
      scale_inv(i, j) = inverse(scale);
    }
}

}  // namespace

template <class T>
void quantize_rows(const BlockRule& rule, In<T> x, Out<u8> codes, Out<float> scale_inv) {
  quantize_blocks(rule, 1, x, codes, scale_inv);
}

template <class T>
void quantize_squares(const BlockRule& rule, In<T> x, Out<u8> codes, Out<float> scale_inv) {
  quantize_blocks(rule, kBlock, x, codes, scale_inv);
}

template void quantize_rows(const BlockRule&, In<float>, Out<u8>, Out<float>);
template void quantize_rows(const BlockRule&, In<bf16>, Out<u8>, Out<float>);
template void quantize_squares(const BlockRule&, In<float>, Out<u8>, Out<float>);
template void quantize_squares(const BlockRule&, In<bf16>, Out<u8>, Out<float>);

}  // namespace megalith::quant
