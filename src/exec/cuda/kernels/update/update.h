// Gradient accumulation, the sum of squares of many tensors, counts of nonzeros, and the decisions of a step.
#pragma once
#include <span>

#include "exec/cuda/device.h"
#include "exec/cuda_needs/squares.h"
#include "ops/loss_scaling.h"

namespace megalith::cuda {

// sum += x (f32, bf16, f16 or f64, all of one type).
void launch_accumulate(DType dtype, i64 n, const void* x, const void* before, void* sum, cudaStream_t stream);

// sum += x, for integers.
void launch_count_up(i64 n, const i32* x, i32* sum, cudaStream_t stream);

struct AccumulateItem {
  float* sum;
  const float* x;
  i64 n;
};
// sum += x for all items, or sum = x at the start of a step.
void launch_accumulate(std::span<const AccumulateItem> items, bool anew, cudaStream_t stream);

// x must be a multiple of 16 bytes.
struct SquaresItem {
  const void* x;
  i64 n;
};
// f64 numbers that launch_sum_squares() needs as workspace.
i64 sum_squares_partials(std::span<const SquaresItem> items);
// out = the sum of all squares of all items, in f64. dtype: of all items, f32, bf16 or f16.
void launch_sum_squares(DType dtype, std::span<const SquaresItem> items, double* partials, double* out,
                        cudaStream_t stream);

// The same for f32 numbers in two parts (split_float.cuh): the bf16 half and the low half. Both are aligned like
// SquaresItem's x.
struct JoinedItem {
  const void *near, *rest;
  i64 n;
};
void launch_sum_squares(const JoinedItem& item, double* partials, double* out, cudaStream_t stream);
// The number of elements that are not 0. `partials`: as many as for the item's squares.
void launch_count_nonzeros(DType dtype, const SquaresItem& item, double* partials, double* out, cudaStream_t stream);

// The same for the rows of a table that have a mark.
struct MarkedRows {
  const void* x;
  const u8* marks;
  i64 rows, width;
};
i64 sum_squares_partials(const MarkedRows& x);
void launch_sum_squares(DType dtype, const MarkedRows& x, double* partials, double* out, cudaStream_t stream);

// ops/update.h, StepScalars. The types of squares, loss and tokens: f32, bf16, f16 or f64. out: 4 numbers. scale: the
// loss scale's state [3], updated in place; nullptr: the loss is not scaled.
struct StepScalarsLaunch {
  double clip;
  DType squares, loss, tokens;
  LossScaling scaling = {};
};
struct StepSums {
  const void *squares, *loss, *tokens;
};
void launch_step_scalars(const StepScalarsLaunch& l, const StepSums& sums, double* out, double* scale,
                         cudaStream_t stream);

}  // namespace megalith::cuda
