// Kernel of Ones.
#include "exec/cuda/kernels/ones.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const Ones& op, const KernelContext& context) {
  check_number(op.name, context.outs[0].dtype);
  return {0, [type = context.outs[0].dtype, n = count(context.out_shape(0))](const Args& a) {
            launch_ones(type, a.outs[0], n, a.stream);
          }};
}

}  // namespace megalith::cuda
