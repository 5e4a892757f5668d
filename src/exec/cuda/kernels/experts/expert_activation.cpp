// Kernels of ExpertActivation and its gradient.
#include "exec/cuda/kernels/experts/expert_activation.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

static_assert(int(GateKind::gelu_tanh) == int(Gate::gelu_tanh) && int(GateKind::quick_gelu) == int(Gate::quick_gelu));
static_assert(int(ActKind::gelu_tanh) == int(Act::gelu_tanh) && int(ActKind::relu) == int(Act::relu));

static ExpertActivationLaunch launch_of(std::string_view op, const ExpertAct& act, DType dtype, const Shape& y) {
  check_activation(op, dtype);
  return {dtype, act.gated, GateKind(int(act.gate)), ActKind(int(act.act)), y[0], y[1]};
}

Kernel prepare(const ExpertActivation& op, const KernelContext& context) {
  const ExpertActivationLaunch l = launch_of(op.name, op.act, context.ins[0].dtype, context.out_shape(0));
  return {0, [l, experts = context.in_shape(2)[1]](const Args& a) {
            launch_expert_activation(l, a.in<i32>(2) + experts - 1, a.ins[0], a.in<float>(1), a.outs[0], a.stream);
          }};
}

Kernel prepare(const ExpertActivationGrad& op, const KernelContext& context) {
  const ExpertActivationLaunch l = launch_of(op.name, op.act, context.ins[1].dtype, context.in_shape(0));
  return {0, [l, experts = context.in_shape(3)[1], with_output = op.with_output](const Args& a) {
            launch_expert_activation_grad(
                l, a.in<i32>(3) + experts - 1,
                {a.ins[0], a.ins[1], a.in<float>(2), a.outs[0], a.out<float>(1), with_output ? a.outs[2] : nullptr},
                a.stream);
          }};
}

}  // namespace megalith::cuda
