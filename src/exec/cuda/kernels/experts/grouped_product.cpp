// Kernel of GroupedProduct.
#include "exec/cuda/kernels/experts/grouped_product.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/products/grouped_hopper.h"
#include "exec/cuda_needs/grouped_fits.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const GroupedProduct& op, const KernelContext& context) {
  const DType from = context.ins[0].dtype, to = context.outs[0].dtype;
  check_activation(op.name, from);
  check(context.ins[1].dtype == from, "[grouped_product] of {} and {}: want one type", name_of(from),
        name_of(context.ins[1].dtype));
  check_dtype(op.name, to, {DType::f32, from});
  const GroupedShape s = grouped_shape(op, context);
  const GroupedLaunch l{from, to, s.sums, s.transposed, s.experts, s.bound, s.out, s.in};
  const auto buffers = [op](const Args& a) {
    const bool add = op.accumulate && !(a.first_micro_batch && op.starts);
    return GroupedBuffers{a.ins[0], a.ins[1], a.in<i32>(2), a.outs[0], add};
  };
  if (grouped_fits(op, context))
    return {kGroupedWorkspace, [l, buffers, sms = grouped_multiprocessors(op, context)](const Args& a) {
              launch_hopper(l, buffers(a), reinterpret_cast<int*>(a.workspace), sms, a.stream);
            }};
  return {0, [l, buffers](const Args& a) { launch(l, buffers(a), a.stream); }};
}

}  // namespace megalith::cuda
