// Kernels of Activate and ActivateGrad.
#include "exec/cuda/kernels/activate.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/then_sum.h"
#include "exec/cuda_needs/sum_plan.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

static_assert(int(ActKind::gelu_tanh) == int(Act::gelu_tanh) && int(ActKind::relu) == int(Act::relu));

static ActivateLaunch launch_of(std::string_view op, Act act, const Type& x, const Shape& shape) {
  check_activation(op, x.dtype);
  return {ActKind(int(act)), x.dtype, count(shape)};
}

Kernel prepare(const Activate& op, const KernelContext& context) {
  const ActivateLaunch l = launch_of(op.name, op.act, context.ins[0], context.in_shape(0));
  return {0, [l](const Args& a) { launch_activate(l, a.ins[0], a.outs[0], a.stream); }};
}

static Kernel with_bias(const ActivateGrad& op, const KernelContext& context, const ActivateLaunch& l) {
  const int bias = op.with_output ? 2 : 1;
  const Shape dx = context.out_shape(0);
  check_number(op.name, context.outs[size_t(bias)].dtype);
  const i64 columns = dx.back(), rows = columns == 0 ? 0 : count(dx) / columns;
  const SumLaunch sums = column_sums(l.dtype, context.outs[size_t(bias)].dtype, rows, columns);
  if (!adds_on_the_way(sums, rows, columns)) {
    ActivateGrad plain = op;
    plain.bias = false;
    KernelContext gradient = context;
    gradient.outs.pop_back();
    return then_sum(prepare(plain, gradient), context, letters(op.ndim), bias);
  }
  return {sums.workspace(), [l, sums, with_output = op.with_output, bias](const Args& a) {
            const ActivateGradBuffers b{a.ins[0], a.ins[1], a.outs[0], with_output ? a.outs[1] : nullptr};
            launch_activate_grad_bias(l, sums, b, a.outs[size_t(bias)], a.workspace, a.stream);
          }};
}

Kernel prepare(const ActivateGrad& op, const KernelContext& context) {
  const ActivateLaunch l = launch_of(op.name, op.act, context.ins[1], context.in_shape(1));
  if (op.bias) return with_bias(op, context, l);
  return {0, [l, with_output = op.with_output](const Args& a) {
            launch_activate_grad(l, {a.ins[0], a.ins[1], a.outs[0], with_output ? a.outs[1] : nullptr}, a.stream);
          }};
}

}  // namespace megalith::cuda
