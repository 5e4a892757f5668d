// NVFP4: e2m1 codes, a ue4m3 scale for each block of 16 or `16 x 16` values, and a factor of the tensor. A value is
// code * scale / nv_factor(amax). Source: arXiv 2509.25149, Transformer Engine 2.20.
#pragma once
#include "quant/matrix.h"

namespace megalith::quant {

inline constexpr i64 kNvBlock = 16;

enum class NvBlocks { rows, squares };  // 1 x 16 (activations, gradients), 16 x 16 (weights)

// x [rows, cols], whose amax is `amax` -> codes [rows, cols / 2], scales (ue4m3) [rows, cols / 16]. A byte has two
// codes; the element of the even column is in the low half. The scale of a square is stored once for each of its rows.
// Error if 16 does not divide cols, or rows of squares. T: float or bf16.
template <class T>
void quantize_nv(NvBlocks blocks, In<T> x, float amax, Out<u8> codes, Out<u8> scales);

// Rotates each 16 tokens: x [tokens, cols] -> bf16 x' [cols, tokens]. In each run of 16 tokens x' is the transpose
// times diag(signs) Hadamard / 4. The rotation is orthogonal, so it cancels in a product of two rotated operands over
// the tokens. Sums are f64. Error if 16 does not divide tokens.
void rotate_tokens(In<bf16> x, Out<bf16> x_t);

// One row of 16: x H, in place.
void rotate_16(std::span<double, 16> x);

}  // namespace megalith::quant
