// The gradient of the part of a key that all heads share: dk [rows,heads,own+shared] -> sum over heads of the last
// `shared` of each, [rows,shared]. Type f32 or bf16; sums in f32, head by head.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct SharedKeyGrad {
  DType dtype;
  i64 rows, heads, own, shared;
};
void launch(const SharedKeyGrad& l, const void* dk, void* out, cudaStream_t stream);

}  // namespace megalith::cuda
