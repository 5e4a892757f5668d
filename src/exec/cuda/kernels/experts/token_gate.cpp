// Kernels of TokenGate and its gradient.
#include "exec/cuda/kernels/experts/token_gate.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

template <class T>
static TokenGateLaunch launch_of(const T& op, DType dtype, const Shape& x) {
  check_activation(op.name, dtype);
  return {op.logistic, dtype, x[0] * x[1], x[2]};
}

Kernel prepare(const TokenGate& op, const KernelContext& context) {
  const TokenGateLaunch l = launch_of(op, context.ins[0].dtype, context.in_shape(0));
  check_dtype(op.name, context.ins[1].dtype, {DType::f32});
  return {0, [l](const Args& a) { launch_token_gate(l, a.ins[0], a.in<float>(1), a.outs[0], a.stream); }};
}

Kernel prepare(const TokenGateGrad& op, const KernelContext& context) {
  const TokenGateLaunch l = launch_of(op, context.ins[1].dtype, context.in_shape(0));
  check_dtype(op.name, context.ins[2].dtype, {DType::f32});
  return {0, [l](const Args& a) {
            launch_token_gate_grad(l, {a.ins[0], a.ins[1], a.in<float>(2), a.outs[0], a.out<float>(1)}, a.stream);
          }};
}

}  // namespace megalith::cuda
