// Products of experts' rows with the experts' weights, in the forms of GroupedShape (ops/grouped_product.h). The ends
// of each expert's rows are read on the device.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct GroupedLaunch {
  DType from, to;         // type of both operands, f32 or bf16; type of the result: f32 or `from`
  bool sums, transposed;  // as in GroupedShape
  i64 experts, bound, out, in;
};
struct GroupedBuffers {
  const void *a, *b;  // rows and weights, or rows and rows
  const i32* ends;    // [experts]
  void* y;
  bool add;  // adds to y
};
void launch(const GroupedLaunch& l, const GroupedBuffers& b, cudaStream_t stream);

}  // namespace megalith::cuda
