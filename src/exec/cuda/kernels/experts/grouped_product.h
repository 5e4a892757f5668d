// Products of experts' rows with the experts' weights, in the forms of GroupedShape (ops/grouped_product.h): of values,
// or of fp8 codes with one scale an operand. The ends of each expert's rows are read on the device.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct GroupedLaunch {
  DType from, to;         // type of the first operand; type of the result: f32 or `from`, of codes any activation's
  bool sums, transposed;  // as in GroupedShape
  i64 experts, bound, out, in;
  DType second = from;  // of the second operand. Types of values are equal; codes are f8_e4m3 or f8_e5m2
  bool turned = false;  // of codes, as in QuantizedGroupedProduct
};
struct GroupedBuffers {
  const void *a, *b;  // rows and weights, or rows and rows
  const i32* ends;    // [experts]
  void* y;
  bool add;                                            // adds to y
  const float *a_scale = nullptr, *b_scale = nullptr;  // of codes
};
void launch(const GroupedLaunch& l, const GroupedBuffers& b, cudaStream_t stream);

}  // namespace megalith::cuda
