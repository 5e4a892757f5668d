// MXFP8: one ue8m0 scale for each 1 x 32 values, rounded up to a power of two. So nothing saturates (arXiv 2506.08027).
// A block of zeros has code 0. In a block with NaN the element itself keeps it. Source: OCP Microscaling Formats 1.0.
#pragma once
#include "quant/fp8_format.h"
#include "quant/matrix.h"

namespace megalith::quant {

inline constexpr i64 kMxBlock = 32;

// x [rows, cols] -> codes [rows, cols], scales (e8m0) [rows, cols / 32]; Error if 32 does not divide cols. T: float or
// bf16.
template <class T>
void quantize_mx(Fp8 format, In<T> x, Out<u8> codes, Out<u8> scales);

}  // namespace megalith::quant
