// Casts with one scale for all values, and what is read beside them. T: float or bf16.
#pragma once
#include "quant/fp8_format.h"
#include "quant/matrix.h"

namespace megalith::quant {

constexpr float absolute(float x) { return std::bit_cast<float>(std::bit_cast<u32>(x) & 0x7fffffffu); }
// The larger of two |values|, where NaN counts as none.
constexpr float larger(float a, float b) { return b > a || a != a ? b : a; }

// The largest |value|; NaN is passed over, 0 if there is nothing else.
template <class T>
float amax_of(std::span<const T> x);

// codes[i] = encode(f32(x[i] * scale)): the product is rounded to f32 before it is cast.
template <class T>
void cast(Fp8 format, std::span<const T> x, float scale, std::span<u8> codes);

// How many values the cast cuts down to the largest finite one.
template <class T>
i64 saturated(Fp8 format, std::span<const T> x, float scale);

// [rows, cols] -> [cols, rows], of codes.
void transpose(In<u8> codes, Out<u8> codes_t);

}  // namespace megalith::quant
