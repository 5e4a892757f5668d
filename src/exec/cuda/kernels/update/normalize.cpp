// Kernel of Normalize.
#include "exec/cuda/kernels/update/normalize.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const Normalize& op, const KernelContext& context) {
  check_activation(op.name, context.ins[0].dtype);
  const i64 stack = context.in_shape(0)[0];
  const NormalizeLaunch l{context.ins[0].dtype, stack, stack > 0 ? count(context.in_shape(0)) / stack : 0, op.eps};
  return {normalize_partials(l) * i64(sizeof(double)),
          [l](const Args& a) { launch(l, a.ins[0], reinterpret_cast<double*>(a.workspace), a.outs[0], a.stream); }};
}

}  // namespace megalith::cuda
