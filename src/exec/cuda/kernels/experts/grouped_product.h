// Products of experts' rows with the experts' weights (GroupedShape in ops/grouped_product.h says which), where each
// expert's rows end is read on the device.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct GroupedLaunch {
  DType from, to;         // of both operands, f32 or bf16; of the result: f32 or `from`
  bool sums, transposed;  // as in GroupedShape
  i64 experts, bound, out, in;
};
struct GroupedBuffers {
  const void *a, *b;  // rows and weights, or rows and rows
  const i32* ends;    // [experts]
  void* y;
  bool add;  // to y
};
void launch(const GroupedLaunch& l, const GroupedBuffers& b, cudaStream_t stream);

}  // namespace megalith::cuda
