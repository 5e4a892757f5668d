// NVFP4: e2m1 codes, a ue4m3 scale for each block of 16 values or of 16 x 16, and a factor of the tensor. A value is
// code * scale / nv_factor(amax). Source: arXiv 2509.25149, Transformer Engine 2.20.
#pragma once
#include "quant/matrix.h"

namespace megalith::quant {

inline constexpr i64 kNvBlock = 16;

enum class NvBlocks { rows, squares };  // 1 x 16 (activations, gradients), 16 x 16 (weights)

// x [rows, cols] of amax `amax` -> codes [rows, cols / 2], two a byte, the element of even column in the low half;
// scales (ue4m3) [rows, cols / 16], of squares once for each row. Error if 16 does not divide cols, or rows of squares.
// T: float or bf16.
template <class T>
void quantize_nv(NvBlocks blocks, In<T> x, float amax, Out<u8> codes, Out<u8> scales);

// Rotates each 16 tokens: x [tokens, cols] -> bf16 x' [cols, tokens], the transpose times diag(signs) Hadamard / 4 in
// each 16 of a row. It is orthogonal: between two rotated operands it cancels in a product over the tokens. Sums are
// f64. Error if 16 does not divide tokens.
void rotate_tokens(In<bf16> x, Out<bf16> x_t);

// One row of 16: x H, in place.
void rotate_16(std::span<double, 16> x);

}  // namespace megalith::quant
