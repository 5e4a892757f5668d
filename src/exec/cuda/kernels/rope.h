// Rotary embedding of x [s,b,heads,d], type `x` (f32, bf16). A rotation by position * frequency i turns dims i and half
// + i; if interleaved, dims first + 2i and first + 2i + 1. Other dims do not change. y may be x.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda_needs/indices.h"

namespace megalith::cuda {

struct RopeLaunch {
  static constexpr int kMostDims = 256;  // d
  DType x;
  i64 s, b, heads;
  i64 turned;                // number of heads that are rotated, the first ones
  int d, half, first, sign;  // first: 0 unless interleaved
  float amplitude;           // of cosines and sines
  bool interleaved;
  bool by_input;                     // i32 positions [s,b]; else the global indices of s:
  Indices index;                     //
  double half_turns[kMostDims / 2];  // the frequency over pi, a position
};
// amax: of y, or null; null for interleaved pairs.
void launch(const RopeLaunch& l, const void* x, const i32* positions, void* y, float* amax, cudaStream_t stream);

}  // namespace megalith::cuda
