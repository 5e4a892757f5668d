// y = x rstd w. With n = x rstd and g = dy w:  dx = [residual +] rstd (g - n mean(g n)),  dw = sum over rows of dy n.
#include <cmath>

#include "exec/cpu/kernels/magnitude.h"
#include "exec/cpu/kernels/norm.h"
#include "exec/cpu/kernels/with_bias.h"

namespace megalith::cpu {
namespace {

template <class T>
void write_row(const T* x, const accum_t<T>* w, i64 h, accum_t<T> rstd, T* y) {
  each_vector<accum_t<T>>(0, h,
                          [&](i64 i, auto part) { store(y + i, load(x + i, part) * rstd * load(w + i, part), part); });
}

template <class T>
accum_t<T> forward_row(const T* x, const accum_t<T>* w, i64 h, double eps, T* y) {
  using A = accum_t<T>;
  const A squares = sum_over<A>(h, [&](i64 i, auto part) {
    const Vec<A> v = load(x + i, part);
    return v * v;
  });
  const A rstd = 1 / std::sqrt(squares / A(h) + A(eps));
  write_row(x, w, h, rstd, y);
  return rstd;
}

template <class T>
struct BackwardRow {
  const T *dy, *x, *residual;  // residual: may be null
  accum_t<T> rstd;
  T* dx;
};

// Adds to dw.
template <class T>
void backward_row(const BackwardRow<T>& r, const accum_t<T>* w, i64 h, accum_t<T>* dw) {
  using A = accum_t<T>;
  const auto [dy, x, residual, rstd, dx] = r;
  const A dot = sum_over<A>(h, [&](i64 i, auto part) {
    const Vec<A> d = load(dy + i, part), n = load(x + i, part) * rstd;
    store(dw + i, load(dw + i, part) + d * n, part);
    return d * load(w + i, part) * n;
  });
  const A mean = dot / A(h);
  each_vector<A>(0, h, [&](i64 i, auto part) {
    const Vec<A> g = load(dy + i, part) * load(w + i, part), n = load(x + i, part) * rstd;
    const Vec<A> d = rstd * (g - n * mean);
    store(dx + i, residual ? load(residual + i, part) + d : d, part);
  });
}

template <class T>
Kernel forward(const KernelContext& context, double eps, bool gives_amax) {
  using A = accum_t<T>;
  const NormShape shape(context.in_shape(0));
  const DType wt = context.ins[1].dtype;
  return {shape.hp * i64(sizeof(A)), [shape, wt, eps, gives_amax](const Args& a) {
            const AmaxOfParts amax(gives_amax ? a.out<float>(2) : nullptr);
            A* w = reinterpret_cast<A*>(a.workspace);
            widen(wt, a.ins[1], shape.h, w);
            parallel_for(shape.rows, shape.grain(), [&](i64 row) {
              T* y = a.out<T>(0) + row * shape.h;
              a.out<A>(1)[row] = forward_row(a.in<T>(0) + row * shape.h, w, shape.h, eps, y);
              amax.see(y, shape.h);
            });
          }};
}

template <class T>
Kernel backward(const KernelContext& context, const RmsNormGrad& op) {
  using A = accum_t<T>;
  const NormShape shape(context.in_shape(1));
  const DType wt = context.ins[2].dtype, dwt = context.outs[1].dtype;
  const int amax_at = op.gives_amax ? 2 + op.with_output + op.bias : -1;
  return {(1 + shape.chunks) * shape.hp * i64(sizeof(A)),
          [shape, wt, dwt, residual = op.residual, with_output = op.with_output, amax_at](const Args& a) {
            const AmaxOfParts amax(amax_at >= 0 ? a.out<float>(amax_at) : nullptr);
            A *w = reinterpret_cast<A*>(a.workspace), *partial = w + shape.hp;
            widen(wt, a.ins[2], shape.h, w);
            parallel_for(shape.chunks, 1, [&](i64 c) {
              A* dw = partial + c * shape.hp;
              std::fill(dw, dw + shape.h, A(0));
              for (i64 row = c * shape.chunk; row < std::min(shape.rows, (c + 1) * shape.chunk); ++row) {
                const i64 at = row * shape.h;
                const T* beside = residual ? a.in<T>(4) + at : nullptr;
                backward_row<T>({a.in<T>(0) + at, a.in<T>(1) + at, beside, a.in<A>(3)[row], a.out<T>(0) + at}, w,
                                shape.h, dw);
                amax.see(a.out<T>(0) + at, shape.h);
                if (with_output) write_row(a.in<T>(1) + at, w, shape.h, a.in<A>(3)[row], a.out<T>(2) + at);
              }
            });
            add_chunks(shape, partial, shape.hp, dwt, a.outs[1]);
          }};
}

}  // namespace

Kernel prepare(const RmsNorm& op, const KernelContext& context) {
  return dispatch_float(context.ins[0].dtype, [&]<class T>() { return forward<T>(context, op.eps, op.gives_amax); });
}

Kernel prepare(const RmsNormGrad& op, const KernelContext& context) {
  const DType dtype = context.ins[1].dtype;
  const Kernel k = dispatch_float(dtype, [&]<class T>() { return backward<T>(context, op); });
  return op.bias ? with_bias(k, dtype, context.in_shape(1), 2 + op.with_output) : k;
}

}  // namespace megalith::cpu
