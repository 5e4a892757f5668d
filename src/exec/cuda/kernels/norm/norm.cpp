// RmsNorm, LayerNorm and their gradients.
#include "exec/cuda/kernels/norm/norm.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/quantize/quantize.h"
#include "exec/cuda/kernels/then_sum.h"
#include "exec/cuda_needs/kernel_shapes.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

namespace {

// Runs the kernel, then computes the amax of its first result as the last result. For kernels that do not compute it
// themselves.
Kernel then_amax(const Kernel& kernel, const Type& x, i64 elements, int amax) {
  return {kernel.workspace, [kernel, l = AmaxLaunch{x.dtype, elements}, amax](const Args& a) {
            kernel.run(a);
            launch(l, a.outs[0], a.out<float>(amax), a.stream);
          }};
}

// `amax`: whether the last result is y's.
Kernel forward(std::string_view op, const KernelContext& context, double eps, bool centred, bool amax = false) {
  const NormShape s = norm_shape(op, context, 0, centred);
  if (centred) check_dtype(op, context.ins[2].dtype, {s.w});
  const NormLaunch l = plan_norm(s, eps, norm_device(context));
  if (!centred)
    return {0, [l, amax](const Args& a) {
              float* most = amax ? a.out<float>(2) : nullptr;
              launch(l, {a.ins[0], a.ins[1], nullptr, a.outs[0], nullptr, a.out<float>(1), most}, a.stream);
            }};
  return {0, [l](const Args& a) {
            launch(l, {a.ins[0], a.ins[1], a.ins[2], a.outs[0], a.out<float>(1), a.out<float>(2)}, a.stream);
          }};
}

template <class Gradient>
Kernel backward(const Gradient& op, const KernelContext& context, bool centred, bool amax = false) {
  const NormShape s = norm_shape(op.name, context, 1, centred);
  check_dtype(op.name, context.ins[0].dtype, {s.x});
  check_activation(op.name, context.outs[1].dtype);
  const int after = centred ? 5 : 4;  // inputs that every form has
  const int output = centred ? 3 : 2, bias = output + op.with_output;
  if (op.residual) check_dtype(op.name, context.ins[after].dtype, {s.x});
  if (centred && op.with_output) check_dtype(op.name, context.ins.back().dtype, {s.w});
  if (op.bias && !adds_up_bias(s, norm_device(context))) {
    Gradient plain = op;
    plain.bias = false;
    KernelContext gradient = context;
    gradient.outs.pop_back();
    return then_sum(prepare(plain, gradient), context, op.x, bias);
  }
  const NormGradLaunch l =
      plan_norm_grad(s, {context.outs[1].dtype, op.residual, op.with_output, op.bias, amax}, norm_device(context));
  return {l.workspace, [l, after, output, bias](const Args& a) {
            NormGradBuffers b{.dy = a.ins[0], .x = a.ins[1], .w = a.ins[2], .dx = a.outs[0], .dw = a.outs[1]};
            b.rstd = a.in<float>(3);
            if (l.shape.centred) b.mean = a.in<float>(3), b.rstd = a.in<float>(4), b.dc = a.outs[2];
            if (l.form.residual) b.dres = a.ins[after];
            if (l.form.with_output) b.c = a.ins.back(), b.y = a.outs[output];
            if (l.form.bias) b.db = a.outs[bias];
            if (l.form.gives_amax) b.amax = a.out<float>(bias + l.form.bias);
            b.workspace = reinterpret_cast<float*>(a.workspace);
            launch(l, b, a.stream);
          }};
}

}  // namespace

Kernel prepare(const RmsNorm& op, const KernelContext& context) {
  const bool on_the_way = norm_block(norm_shape(op.name, context, 0, false), 1, norm_device(context)).per > 0;
  const Kernel norm = forward(op.name, context, op.eps, false, op.gives_amax && on_the_way);
  if (!op.gives_amax || on_the_way) return norm;
  return then_amax(norm, context.outs[0], count(context.out_shape(0)), 2);
}
Kernel prepare(const LayerNorm& op, const KernelContext& context) { return forward(op.name, context, op.eps, true); }
Kernel prepare(const RmsNormGrad& op, const KernelContext& context) {
  const bool on_the_way = norm_ring(norm_shape(op.name, context, 1, false), norm_device(context)).packs > 0;
  if (!op.gives_amax || on_the_way) return backward(op, context, false, op.gives_amax);
  RmsNormGrad plain = op;
  plain.gives_amax = false;
  KernelContext gradient = context;
  gradient.outs.pop_back();
  return then_amax(backward(plain, gradient, false), context.outs[0], count(context.out_shape(0)),
                   int(gradient.outs.size()));
}
Kernel prepare(const LayerNormGrad& op, const KernelContext& context) { return backward(op, context, true); }

}  // namespace megalith::cuda
