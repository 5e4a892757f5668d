// RmsNorm, LayerNorm and their gradients.
#include "exec/cuda/kernels/norm/norm.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/supported.h"
#include "exec/cuda/kernels/then_sum.h"

namespace megalith::cuda {

namespace {

NormDevice device_of(const Site& site) {
  return {site.device.sms(), site.device.shared_memory(), site.device.capability()};
}

NormShape shape_of(std::string_view op, const Site& site, int x, bool centred) {
  const DType xt = site.ins[x].dtype, wt = site.ins[x + 1].dtype;
  check_activation(op, xt);
  check_dtype(op, wt, {DType::f32, DType::bf16});
  const Shape shape = site.in_shape(x);
  const i64 h = shape.back();
  check(h > 0 && h < NormShape::kMostColumns && count(shape) / h < NormShape::kMostRows,
        "[{}] {} is larger than the CUDA kernel takes", op, to_string(shape));
  return {xt, wt, centred, count(shape) / h, h};
}

Kernel forward(std::string_view op, const Site& site, double eps, bool centred) {
  const NormShape s = shape_of(op, site, 0, centred);
  if (centred) check_dtype(op, site.ins[2].dtype, {s.w});
  const NormLaunch l = plan_norm(s, eps, device_of(site));
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
  const NormShape s = shape_of(op.name, site, 1, centred);
  check_dtype(op.name, site.ins[0].dtype, {s.x});
  check_dtype(op.name, site.outs[1].dtype, {DType::f32, DType::bf16});
  const int after = centred ? 5 : 4;  // the inputs that every form has
  const int again = centred ? 3 : 2, bias = again + op.again;
  if (op.residual) check_dtype(op.name, site.ins[after].dtype, {s.x});
  if (centred && op.again) check_dtype(op.name, site.ins.back().dtype, {s.w});
  if (op.bias && !adds_up_bias(s, device_of(site))) {
    Gradient plain = op;
    plain.bias = false;
    Site gradient = site;
    gradient.outs.pop_back();
    return then_sum(prepare(plain, gradient), site, op.x, bias);
  }
  const NormGradLaunch l = plan_norm_grad(s, {site.outs[1].dtype, op.residual, op.again, op.bias}, device_of(site));
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

// Rows of up to 512 elements, in the forward 1024, take a warp or less, so that no barrier is in the way; longer ones a
// block. (The gradient of a whole row in a warp would need more registers than there are.) What does not
// fit in registers or shared memory, and weights of another type than x, go to the kernel of any size.
NormBlock norm_block(const NormShape& s, int inputs, const NormDevice& device) {
  const i64 h = s.h, size = size_of(s.x);
  const int any = int(std::min<i64>((h + 31) / 32 * 32, 512));
  if (h % (16 / size) != 0 || h > 16384 || s.w != s.x) return {0, any, any};
  NormBlock b{16, 1, 256};
  if (h <= 512)
    while (b.lanes * b.per < h) b.lanes *= 2;
  else if (h <= 1024 && inputs == 1)
    b.per = h <= 768 ? 24 : 32, b.lanes = 32;
  else
    b.per = h <= 4096 ? 16 : 32, b.lanes = b.threads = int((h + b.per * 32 - 1) / (b.per * 32) * 32);
  const int own = inputs * b.per * int(size);
  const bool fits = i64(norm_depth(own)) * own * b.threads <= device.shared - kNormStaticShared &&
                    b.threads <= norm_threads(b.per, int(size));
  return fits ? b : NormBlock{0, any, any};
}

// The gradient on Hopper, of bf16 rows that are whole packs of 8 and that take more than a warp; up to 2048 elements
// they go in pairs, so there must be an even number of them.
NormRing norm_ring(const NormShape& s, const NormDevice& device) {
  NormRing r{s.h <= 2048 ? 1 : 2};
  const bool fits = s.x == DType::bf16 && s.w == s.x && s.h > 512 && s.h <= 8192 && s.h % 8 == 0;
  if (device.capability != 90 || !fits || s.rows % r.rows() != 0) return {};
  const i64 warp = 32 * 8 * r.packs;  // elements
  r.lanes = int((s.h + warp - 1) / warp * 32), r.groups = NormRing::kThreads / r.lanes;
  return r;
}

Kernel prepare(const RmsNorm& op, const Site& site) { return forward(op.name, site, op.eps, false); }
Kernel prepare(const LayerNorm& op, const Site& site) { return forward(op.name, site, op.eps, true); }
Kernel prepare(const RmsNormGrad& op, const Site& site) { return backward(op, site, false); }
Kernel prepare(const LayerNormGrad& op, const Site& site) { return backward(op, site, true); }

}  // namespace megalith::cuda
