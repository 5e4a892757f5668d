// Copies between a tensor of ours (f32) and a strided block of a tensor in a file (any float type): transposition,
// slices of fused weights and plain copies are all this one loop.
#pragma once
#include <array>

#include "base/dtype.h"

namespace megalith {

// A block of up to three dimensions; steps and starts count elements, on our side and on the file's.
struct Strides {
  std::array<i64, 3> size = {1, 1, 1};
  std::array<i64, 3> ours = {0, 0, 1};
  std::array<i64, 3> theirs = {0, 0, 1};
  i64 our_start = 0;
  i64 their_start = 0;

  static Strides flat(i64 n) { return {.size = {1, 1, n}}; }
};

// ours[...] = theirs[...]. `theirs` may be unaligned and of type f32, f64, bf16 or f16.
void unpack(const Strides& s, DType type, const std::byte* theirs, float* ours);
// theirs[...] = ours[...], rounded to nearest even.
void pack(const Strides& s, DType type, const float* ours, std::byte* theirs);

}  // namespace megalith
