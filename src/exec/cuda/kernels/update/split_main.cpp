// Kernel of SplitMain.
#include "exec/cuda/kernels/update/split_main.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const SplitMain& op, const KernelContext& context) {
  check_dtype(op.name, context.ins[0].dtype, {DType::f32}), check_dtype(op.name, context.ins[1].dtype, {DType::bf16});
  if (op.low_half) check_dtype(op.name, context.ins[2].dtype, {DType::u16});
  return {0, [op, n = count(context.in_shape(0))](const Args& a) {
            launch_split_main(a.in<float>(0), a.outs[0], op.low_half ? a.out<u16>(1) : nullptr, n, a.stream);
          }};
}

}  // namespace megalith::cuda
