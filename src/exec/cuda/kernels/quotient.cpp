// Kernel of Quotient.
#include "exec/cuda/kernels/quotient.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const Quotient& op, const KernelContext& context) {
  check_number(op.name, context.ins[0].dtype);
  return {0, [l = QuotientLaunch{context.ins[0].dtype}](const Args& a) {
            launch(l, a.ins[0], a.ins[1], a.outs[0], a.stream);
          }};
}

}  // namespace megalith::cuda
