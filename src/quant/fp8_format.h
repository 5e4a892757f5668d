// Dispatch on an fp8 format that is known at run time.
#pragma once
#include "quant/small_float.h"

namespace megalith::quant {

enum class Fp8 : u8 { e4m3, e5m2 };

// Calls f.template operator()<F>() with the format's type.
template <class Function>
constexpr decltype(auto) with_format(Fp8 format, Function&& f) {
  return format == Fp8::e4m3 ? f.template operator()<E4M3>() : f.template operator()<E5M2>();
}

constexpr float largest_of(Fp8 format) { return format == Fp8::e4m3 ? kLargest<E4M3> : kLargest<E5M2>; }
constexpr u8 encode(Fp8 format, float x) { return format == Fp8::e4m3 ? E4M3::encode(x) : E5M2::encode(x); }
constexpr float decode(Fp8 format, u8 code) { return format == Fp8::e4m3 ? E4M3::decode(code) : E5M2::decode(code); }

}  // namespace megalith::quant
