// Kernels of ExpertBias, SumExpertRows and DotExpertBias.
#include "exec/cuda/kernels/experts/expert_bias.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

static ExpertBiasLaunch launch_of(std::string_view op, const KernelContext& context, int ends) {
  check_activation(op, context.ins[0].dtype);
  const Shape rows = context.in_shape(0);
  ExpertBiasLaunch l{context.ins[0].dtype, rows[0], 1, context.in_shape(ends)[1]};
  for (size_t d = 1; d < rows.size(); ++d) l.width *= rows[d];
  return l;
}

Kernel prepare(const ExpertBias& op, const KernelContext& context) {
  const ExpertBiasLaunch l = launch_of(op.name, context, 2);
  check_dtype(op.name, context.ins[1].dtype, {l.dtype});
  return {0, [l, weighted = op.weighted](const Args& a) {
            const float* weights = weighted ? a.in<float>(3) : nullptr;
            launch_expert_bias(l, {a.ins[0], a.ins[1], a.in<i32>(2), weights, a.outs[0]}, a.stream);
          }};
}

Kernel prepare(const SumExpertRows& op, const KernelContext& context) {
  const ExpertBiasLaunch l = launch_of(op.name, context, 1);
  check_dtype(op.name, context.outs[0].dtype, {DType::f32});
  return {0, [l, weighted = op.weighted](const Args& a) {
            const float* weights = weighted ? a.in<float>(2) : nullptr;
            launch_sum_expert_rows(l, a.ins[0], a.in<i32>(1), weights, a.out<float>(0), a.stream);
          }};
}

Kernel prepare(const DotExpertBias& op, const KernelContext& context) {
  const ExpertBiasLaunch l = launch_of(op.name, context, 2);
  check_dtype(op.name, context.ins[1].dtype, {l.dtype});
  return {0, [l](const Args& a) {
            launch_dot_expert_bias(l, a.ins[0], a.ins[1], a.in<i32>(2), a.out<float>(0), a.stream);
          }};
}

}  // namespace megalith::cuda
