// RmsNorm, LayerNorm and their gradients.
#include "exec/cuda/kernels/norm/norm.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/then_sum.h"
#include "exec/cuda_needs/kernel_shapes.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

namespace {

Kernel forward(std::string_view op, const Site& site, double eps, bool centred) {
  const NormShape s = norm_shape(op, site, 0, centred);
  if (centred) check_dtype(op, site.ins[2].dtype, {s.w});
  const NormLaunch l = plan_norm(s, eps, norm_device(site));
  if (!centred)
    return {0, [l](const Args& a) {
              launch(l, {a.ins[0], a.ins[1], nullptr, a.outs[0], nullptr, a.out<float>(1)}, a.stream);
            }};
  return {0, [l](const Args& a) {
            launch(l, {a.ins[0], a.ins[1], a.ins[2], a.outs[0], a.out<float>(1), a.out<float>(2)}, a.stream);
          }};
}

template <class Gradient>
Kernel backward(const Gradient& op, const Site& site, bool centred) {
  const NormShape s = norm_shape(op.name, site, 1, centred);
  check_dtype(op.name, site.ins[0].dtype, {s.x});
  check_dtype(op.name, site.outs[1].dtype, {DType::f32, DType::bf16});
  const int after = centred ? 5 : 4;  // the inputs that every form has
  const int again = centred ? 3 : 2, bias = again + op.again;
  if (op.residual) check_dtype(op.name, site.ins[after].dtype, {s.x});
  if (centred && op.again) check_dtype(op.name, site.ins.back().dtype, {s.w});
  if (op.bias && !adds_up_bias(s, norm_device(site))) {
    Gradient plain = op;
    plain.bias = false;
    Site gradient = site;
    gradient.outs.pop_back();
    return then_sum(prepare(plain, gradient), site, op.x, bias);
  }
  const NormGradLaunch l = plan_norm_grad(s, {site.outs[1].dtype, op.residual, op.again, op.bias}, norm_device(site));
  return {l.workspace, [l, after, again, bias](const Args& a) {
            NormGradBuffers b{.dy = a.ins[0], .x = a.ins[1], .w = a.ins[2], .dx = a.outs[0], .dw = a.outs[1]};
            b.rstd = a.in<float>(3);
            if (l.shape.centred) b.mean = a.in<float>(3), b.rstd = a.in<float>(4), b.dc = a.outs[2];
            if (l.form.residual) b.dres = a.ins[after];
            if (l.form.again) b.c = a.ins.back(), b.y = a.outs[again];
            if (l.form.bias) b.db = a.outs[bias];
            b.workspace = reinterpret_cast<float*>(a.workspace);
            launch(l, b, a.stream);
          }};
}

}  // namespace

Kernel prepare(const RmsNorm& op, const Site& site) { return forward(op.name, site, op.eps, false); }
Kernel prepare(const LayerNorm& op, const Site& site) { return forward(op.name, site, op.eps, true); }
Kernel prepare(const RmsNormGrad& op, const Site& site) { return backward(op, site, false); }
Kernel prepare(const LayerNormGrad& op, const Site& site) { return backward(op, site, true); }

}  // namespace megalith::cuda
