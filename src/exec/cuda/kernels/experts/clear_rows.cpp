// Kernel of ClearRows.
#include "exec/cuda/kernels/experts/clear_rows.h"

#include "exec/cuda/kernel.h"

namespace megalith::cuda {

Kernel prepare(const ClearRows&, const KernelContext& context) {
  const Shape shape = context.in_shape(0);
  const i64 rows = shape[0], row = rows ? count(shape) / rows * size_of(context.ins[0].dtype) : 0;
  return {0, [=, experts = context.in_shape(1)[1]](const Args& a) {
            launch_clear_rows(rows, row, a.in<i32>(1) + experts - 1, a.ins[0], a.outs[0], a.stream);
          }};
}

}  // namespace megalith::cuda
