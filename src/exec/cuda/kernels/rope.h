// Rotary embedding of x [s,b,heads,d], type `x` (f32, bf16): dims i and half + i turn by position * frequency i, or, if
// interleaved, dims first + 2i and first + 2i + 1. The other dims pass. y may be x.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda_needs/indices.h"

namespace megalith::cuda {

struct RopeLaunch {
  static constexpr int kMostDims = 256;  // d
  DType x;
  i64 s, b, heads;
  i64 turned;                // heads that turn, the first ones; the others pass
  int d, half, first, sign;  // first: 0 unless interleaved
  float amplitude;           // of cosines and sines
  bool interleaved;
  bool by_input;                     // i32 positions [s,b]; else the global indices of s:
  Indices index;                     //
  double half_turns[kMostDims / 2];  // a position: the frequency over pi
};
void launch(const RopeLaunch& l, const void* x, const i32* positions, void* y, cudaStream_t stream);

}  // namespace megalith::cuda
