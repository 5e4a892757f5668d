#include "quant/nvfp4.h"

#include <algorithm>
#include <array>

#include "quant/cast.h"
#include "quant/scale.h"

namespace megalith::quant {
namespace {

constexpr std::array<double, 16> kSigns = {1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1};

template <class T>
float amax_of_block(In<T> x, i64 first_row, i64 rows, i64 block) {
  float amax = 0;
  for (i64 r = first_row; r < first_row + rows; ++r)
    amax = larger(amax, amax_of<T>(x.at.subspan(size_t(r * x.cols + block * kNvBlock), kNvBlock)));
  return amax;
}

}  // namespace

template <class T>
void quantize_nv(NvBlocks blocks, In<T> x, float amax, Out<u8> codes, Out<u8> scales) {
  const i64 height = blocks == NvBlocks::squares ? kNvBlock : 1;
  check(x.cols % kNvBlock == 0 && x.rows % height == 0, "NVFP4 of [{}, {}]: want multiples of [{}, {}]", x.rows, x.cols,
        height, kNvBlock);
  want_sizes("codes of NVFP4", codes, x.rows, x.cols / 2);
  want_sizes("scales of NVFP4", scales, x.rows, x.cols / kNvBlock);
  const float factor = nv_factor(amax);
  for (i64 first = 0; first < x.rows; first += height)
    for (i64 b = 0; b < scales.cols; ++b) {
      const NvScale scale = nv_scale(amax_of_block(x, first, height, b), factor);
      for (i64 r = first; r < first + height; ++r) {
        scales(r, b) = scale.code;
        for (i64 c = b * kNvBlock; c < (b + 1) * kNvBlock; c += 2) {
          const u8 low = E2M1::encode(float(x(r, c)) * scale.scale);
          const u8 high = E2M1::encode(float(x(r, c + 1)) * scale.scale);
          codes(r, c / 2) = u8(low | high << 4);
        }
      }
    }
}

void rotate_16(std::span<double, 16> x) {
  for (size_t i = 0; i < 16; ++i) x[i] *= kSigns[i];
  for (size_t half = 1; half < 16; half *= 2)
    for (size_t i = 0; i < 16; ++i)
      if ((i & half) == 0) {
        const double a = x[i], b = x[i + half];
        x[i] = a + b, x[i + half] = a - b;
      }
  for (double& v : x) v *= 0.25;
}

void rotate_tokens(In<bf16> x, Out<bf16> x_t) {
  check(x.rows % kNvBlock == 0, "a rotation of {} tokens: want a multiple of {}", x.rows, kNvBlock);
  want_sizes("rotated tokens", x_t, x.cols, x.rows);
  for (i64 c = 0; c < x.cols; ++c)
    for (i64 first = 0; first < x.rows; first += kNvBlock) {
      std::array<double, 16> tokens;
      for (i64 i = 0; i < kNvBlock; ++i) tokens[size_t(i)] = float(x(first + i, c));
      rotate_16(tokens);
      for (i64 i = 0; i < kNvBlock; ++i) x_t(c, first + i) = bf16(float(tokens[size_t(i)]));
    }
}

template void quantize_nv(NvBlocks, In<float>, float, Out<u8>, Out<u8>);
template void quantize_nv(NvBlocks, In<bf16>, float, Out<u8>, Out<u8>);

}  // namespace megalith::quant
