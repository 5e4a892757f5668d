// Launches of Amax and Quantize (ops/quantize.h). x: f32, bf16 or f64. amax, scale_inv and state are f32.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda_needs/code_tiles.h"
#include "exec/cuda_needs/indices.h"

namespace megalith::cuda {

// Copies of CodeFormat and Scaling with the same values, because device code does not see those.
enum class CodeKind : u8 { e4m3, e5m2, e2m1 };
enum class ScaleKind : u8 { quotient, power_of_two, mx, nv, kept };

struct ScaleRuleOfBox {
  CodeKind format;
  ScaleKind by;
};

struct CastPointers {
  const void* x;
  const float* amax;   // of the tensor; null: the boxes' own
  const float* state;  // the kept scale, if it is above 0; nullptr: none
  u32* seen;  // receives the amax of x, as bits of an f32; null: not wanted. If it is given, scale_inv starts at 0
  u8 *codes, *codes_t;  // null: not wanted
  float* scale_inv;
  unsigned long long* counts;  // two: values beyond the largest code, and those that became 0; null: not wanted
};
// Sets the counts to 0. It runs before a cast.
void start_counts(const CastPointers& p, cudaStream_t stream);

// amax of n elements; infinite if one is infinite or NaN.
struct AmaxLaunch {
  DType x;
  i64 n;
};
void launch(const AmaxLaunch& l, const void* x, float* amax, cudaStream_t stream);
// Runs before a cast that computes its amax. p.seen becomes x's amax if there is no scale yet, else 0. p.scale_inv
// becomes 0.
void launch_first_amax(const AmaxLaunch& l, const CastPointers& p, cudaStream_t stream);

// One scale for all of [rows, columns].
struct CastLaunch {
  DType x;
  ScaleRuleOfBox rule;
  i64 rows, columns;
};
void launch(const CastLaunch& l, const CastPointers& p, cudaStream_t stream);

// Casts with one scale per box, in tiles of whole boxes.
struct TileLaunch {
  DType x;
  ScaleRuleOfBox rule;
  CodeTiles tiles;
};
void launch(const TileLaunch& l, const CastPointers& p, cudaStream_t stream);

// Casts with one scale per box, for boxes of any sizes. Also rounds stochastically to e2m1.
struct BoxLaunch {
  static constexpr int kMostDims = 8;
  DType x;
  ScaleRuleOfBox rule;
  int dims;
  i64 size[kMostDims], box[kMostDims], grid[kMostDims];  // sizes of x on this rank, of a box, and of the grid of boxes
  i64 elements, boxes;
  i64 rows, columns, parts;  // of the matrix to transpose; rows of `parts` sequences become neighbours
  bool stochastic;
  u64 seed;
  Indices index[kMostDims];  // global; only for stochastic rounding
};
// scales: workspace, one float per box. numbers: sample numbers along dim 1; null unless stochastic.
void launch(const BoxLaunch& l, const CastPointers& p, float* scales, const i64* numbers, cudaStream_t stream);

// y = x [tokens, columns] with each 16 tokens rotated.
struct RotateLaunch {
  DType x;
  i64 tokens, columns;
};
void launch(const RotateLaunch& l, const void* x, void* y, cudaStream_t stream);

}  // namespace megalith::cuda
