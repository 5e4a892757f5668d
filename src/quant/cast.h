// Casts with one scale for all values, and statistics of them. T: float or bf16.
#pragma once
#include "quant/fp8_format.h"
#include "quant/matrix.h"

namespace megalith::quant {

constexpr float absolute(float x) { return std::bit_cast<float>(std::bit_cast<u32>(x) & 0x7fffffffu); }
// The larger of two |values|; a NaN is ignored.
constexpr float larger(float a, float b) { return b > a || a != a ? b : a; }

// The largest |value|. NaN is ignored; 0 if there is no other value.
template <class T>
float amax_of(std::span<const T> x);

// codes[i] = encode(f32(x[i] * scale)): the product is rounded to f32 before it is cast.
template <class T>
void cast(Fp8 format, std::span<const T> x, float scale, std::span<u8> codes);

// The number of values that the cast clips to the largest finite one.
template <class T>
i64 saturated(Fp8 format, std::span<const T> x, float scale);

// Transposes codes: [rows, cols] -> [cols, rows].
void transpose(In<u8> codes, Out<u8> codes_t);

}  // namespace megalith::quant
