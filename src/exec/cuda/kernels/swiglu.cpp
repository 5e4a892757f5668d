// Kernels of Swiglu and SwigluGrad.
#include "exec/cuda/kernels/swiglu.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

static_assert(int(GateKind::gelu_tanh) == int(Gate::gelu_tanh) && int(GateKind::quick_gelu) == int(Gate::quick_gelu));

Kernel prepare(const Swiglu& op, const KernelContext& context) {
  const Shape y = context.out_shape(0);
  check_activation(op.name, context.ins[0].dtype);
  const SwigluLaunch l{context.ins[0].dtype, GateKind(int(op.act)), y[0] * y[1], y[2]};
  return {0, [l, gives_amax = op.gives_amax](const Args& a) {
            launch_swiglu(l, a.ins[0], a.outs[0], gives_amax ? a.out<float>(1) : nullptr, a.stream);
          }};
}

Kernel prepare(const SwigluGrad& op, const KernelContext& context) {
  const Shape dy = context.in_shape(0);
  check_activation(op.name, context.ins[1].dtype);
  const SwigluLaunch l{context.ins[1].dtype, GateKind(int(op.act)), dy[0] * dy[1], dy[2]};
  return {0, [l, with_output = op.with_output, gives_amax = op.gives_amax](const Args& a) {
            float* amax = gives_amax ? a.out<float>(1 + with_output) : nullptr;
            launch_swiglu_grad(l, {a.ins[0], a.ins[1], a.outs[0], with_output ? a.outs[1] : nullptr, amax}, a.stream);
          }};
}

}  // namespace megalith::cuda
