// Element types. bf16 and f16 are storage types: arithmetic happens in float. Those from i16 on are only carried: files
// have them, and what reads and writes files passes them on.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

namespace megalith {

using i64 = std::int64_t;
using i32 = std::int32_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

enum class DType : u8 { f32, f64, bf16, f16, i32, i64, u8, u16, i16, u32, u64, i8, boolean, f8_e4m3, f8_e5m2 };
inline constexpr int kDTypes = 15;

struct bf16 {
  u16 bits = 0;
  bf16() = default;
  bf16(float f) {  // NOLINT: implicit like any arithmetic conversion; rounds to nearest even, keeps NaN
    const u32 u = std::bit_cast<u32>(f);
    bits = (u & 0x7fffffffu) > 0x7f800000u ? u16((u >> 16) | 0x40) : u16((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(u32(bits) << 16); }  // NOLINT
};

// IEEE half precision.
struct f16 {
  u16 bits = 0;
  f16() = default;
  constexpr f16(float f) : bits(nearest(std::bit_cast<u32>(f))) {}  // NOLINT: rounds as bf16; what is too large is inf
  constexpr operator float() const {                                // NOLINT
    const u32 sign = u32(bits & 0x8000) << 16, exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
    if (exponent == 0) return std::bit_cast<float>(sign | std::bit_cast<u32>(float(fraction) * 0x1p-24f));
    return std::bit_cast<float>(sign | ((exponent == 31 ? 255 : exponent + 112) << 23) | (fraction << 13));
  }

 private:
  static constexpr u16 nearest(u32 u) {
    const u32 magnitude = u & 0x7fffffff;
    const u16 sign = u16((u >> 16) & 0x8000);
    if (magnitude > 0x7f800000) return u16(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
    if (magnitude >= 0x47800000) return u16(sign | 0x7c00);
    if (magnitude < 0x38800000) {  // below 2^-14: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits
      const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return u16(sign | (std::bit_cast<u32>(shifted) - 0x3f000000));
    }
    const u32 rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    return u16(sign | ((rounded - 0x38000000) >> 13));
  }
};

constexpr i64 size_of(DType t) {
  constexpr i64 sizes[kDTypes] = {4, 8, 2, 2, 4, 8, 1, 2, 2, 4, 8, 1, 1, 1, 1};
  return sizes[int(t)];
}
constexpr std::string_view name_of(DType t) {
  constexpr std::string_view names[kDTypes] = {"f32", "f64", "bf16", "f16", "i32",  "i64",     "u8",     "u16",
                                               "i16", "u32", "u64",  "i8",  "bool", "f8_e4m3", "f8_e5m2"};
  return names[int(t)];
}
constexpr bool is_float(DType t) { return t <= DType::f16; }  // not f8, which nothing computes with

template <class T>
struct dtype_of;
template <>
struct dtype_of<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct dtype_of<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct dtype_of<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct dtype_of<f16> {
  static constexpr DType value = DType::f16;
};
template <>
struct dtype_of<i32> {
  static constexpr DType value = DType::i32;
};
template <>
struct dtype_of<i64> {
  static constexpr DType value = DType::i64;
};
template <>
struct dtype_of<u8> {
  static constexpr DType value = DType::u8;
};
template <>
struct dtype_of<u16> {
  static constexpr DType value = DType::u16;
};

// The type that sums, statistics and main parameters of T are kept in: f64 for f64, else f32.
template <class T>
struct accum {
  using type = float;
};
template <>
struct accum<double> {
  using type = double;
};
template <class T>
using accum_t = typename accum<T>::type;
constexpr DType accum_of(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }

// Calls f.template operator()<T>() with the C++ type of a compute dtype.
template <class F>
decltype(auto) dispatch_float(DType t, F&& f) {
  switch (t) {
    case DType::f32:
      return f.template operator()<float>();
    case DType::f64:
      return f.template operator()<double>();
    case DType::bf16:
      return f.template operator()<bf16>();
    case DType::f16:
      return f.template operator()<f16>();
    default:
      fail("dtype {} is not one the CPU computes in (f32, bf16, f16, f64)", name_of(t));
  }
}

}  // namespace megalith
