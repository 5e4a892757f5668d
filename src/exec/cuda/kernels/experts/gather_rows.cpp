// Kernels of GatherRows, CombineRows, GatherWeights and GatherWeightsGrad. Inputs: a value, ends, source, slots.
#include "exec/cuda/kernels/experts/gather_rows.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const GatherRows&, const KernelContext& context) {
  const Shape rows = context.out_shape(0);
  const GatherRowsLaunch l{rows[0], rows[1] * size_of(context.ins[0].dtype)};
  return {0, [l, experts = context.in_shape(1)[1]](const Args& a) {
            launch_gather(l, a.in<i32>(1) + experts - 1, a.in<i32>(2), a.ins[0], a.outs[0], a.stream);
          }};
}

Kernel prepare(const CombineRows& op, const KernelContext& context) {
  const Shape y = context.out_shape(0);
  check_activation(op.name, context.ins[0].dtype);
  const CombineRowsLaunch l{context.ins[0].dtype, y[0] * y[1], y[2], context.in_shape(3)[3]};
  return {0, [l, adds = op.adds](const Args& a) {
            launch_combine(l, a.in<i32>(3), a.ins[0], adds ? a.ins[4] : nullptr, a.outs[0], a.stream);
          }};
}

Kernel prepare(const GatherWeights& op, const KernelContext& context) {
  check_dtype(op.name, context.ins[0].dtype, {DType::f32});
  return {0, [n = count(context.in_shape(0))](const Args& a) {
            launch_gather_weights(n, a.in<i32>(3), a.in<float>(0), a.out<float>(0), a.stream);
          }};
}

Kernel prepare(const GatherWeightsGrad& op, const KernelContext& context) {
  check_dtype(op.name, context.ins[0].dtype, {DType::f32});
  return {0, [n = count(context.out_shape(0))](const Args& a) {
            launch_gather_weights_grad(n, a.in<i32>(3), a.in<float>(0), a.out<float>(0), a.stream);
          }};
}

}  // namespace megalith::cuda
