// y = k * x, and y = x in another element type.
#include "exec/cuda/kernels/scale.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

static Kernel scaled(std::string_view op, const KernelContext& context, double k) {
  check_number(op, context.ins[0].dtype), check_number(op, context.outs[0].dtype);
  const ScaleLaunch l{context.ins[0].dtype, context.outs[0].dtype, k, count(context.out_shape(0))};
  return {0, [l](const Args& a) { launch(l, a.ins[0], a.outs[0], a.stream); }};
}

Kernel prepare(const Scale& op, const KernelContext& context) { return scaled(op.name, context, op.k); }
Kernel prepare(const Cast& op, const KernelContext& context) { return scaled(op.name, context, 1); }
Kernel prepare(const PutBack& op, const KernelContext& context) { return scaled(op.name, context, 1); }

}  // namespace megalith::cuda
