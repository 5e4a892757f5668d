// The blockwise recipe: one scale for each block of 1 x 128 (activations, gradients) or 128 x 128 (weights) values.
// Scales are rounded down to powers of two unless the rule says otherwise. A block at the edge is shorter. T: float or
// bf16. Source: arXiv 2412.19437, Transformer Engine 2.20.
#pragma once
#include "quant/fp8_format.h"
#include "quant/matrix.h"

namespace megalith::quant {

inline constexpr i64 kBlock = 128;

struct BlockRule {
  Fp8 format = Fp8::e4m3;
  bool power_of_two = true;
};

// x [rows, cols] -> codes [rows, cols], scale_inv [rows, ceil(cols / 128)].
template <class T>
void quantize_rows(const BlockRule& rule, In<T> x, Out<u8> codes, Out<float> scale_inv);

// x [rows, cols] -> codes [rows, cols], scale_inv [ceil(rows / 128), ceil(cols / 128)].
template <class T>
void quantize_squares(const BlockRule& rule, In<T> x, Out<u8> codes, Out<float> scale_inv);

}  // namespace megalith::quant
