// z = x + y, where y may lack dims of x, and y = x with dims added.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda_needs/loop_table.h"

namespace megalith::cuda {

// x has the layout of z, dense. Both f32 or bf16, in any mixture, or both f64.
struct AddLaunch {
  DType x, y;  // z has x's type
  i64 n = 0;   // elements of z
  bool flat = false;
  LoopTable loops;  // unless flat: operand 0 is y, operand 1 is z
};
AddLaunch add_launch(DType x, DType y, const std::vector<Loop>& loops);
void launch(const AddLaunch& l, const void* x, const void* y, void* z, cudaStream_t stream);

// The same: operand 0 is the small x, operand 1 is the result y. Any of f32, bf16, f64.
struct BroadcastLaunch {
  DType from, to;
  i64 n = 0;
  LoopTable loops;
};
void launch(const BroadcastLaunch& l, const void* x, void* y, cudaStream_t stream);

}  // namespace megalith::cuda
