// Kernel of QuantizedGroupedProduct.
#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/experts/grouped_product.h"
#include "exec/cuda/products/grouped_hopper.h"
#include "exec/cuda_needs/grouped_fits.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const QuantizedGroupedProduct& op, const KernelContext& context) {
  const DType to = context.outs[0].dtype;
  check_activation(op.name, to);
  const GroupedShape s = grouped_shape(op, context);
  GroupedLaunch l{context.ins[0].dtype, to, s.sums, s.transposed, s.experts, s.bound, s.out, s.in};
  l.second = context.ins[2].dtype, l.turned = op.turned;
  const auto buffers = [op](const Args& a) {
    const bool add = op.accumulate && !(a.first_micro_batch && op.starts);
    return GroupedBuffers{a.ins[0], a.ins[2], a.in<i32>(4), a.outs[0], add, a.in<float>(1), a.in<float>(3)};
  };
  if (grouped_fits(op, context))
    return {kGroupedWorkspace, [l, buffers, sms = grouped_multiprocessors(op.of_values(), context)](const Args& a) {
              launch_hopper_codes(l, buffers(a), reinterpret_cast<int*>(a.workspace), sms, a.stream);
            }};
  return {0, [l, buffers](const Args& a) { launch(l, buffers(a), a.stream); }};
}

}  // namespace megalith::cuda
