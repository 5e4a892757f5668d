// y = (x - mean) rstd w + c. A second pass over x - mean computes the variance. With n = (x - mean) rstd and g = dy w:
//   dx = [residual +] rstd (g - mean(g) - n mean(g n)),  dw = sum over rows of dy n,  dc = sum over rows of dy.
#include <cmath>

#include "exec/cpu/kernels/norm.h"
#include "exec/cpu/kernels/with_bias.h"

namespace megalith::cpu {
namespace {

template <class A>
struct Stats {
  A mean, rstd;
};

template <class T>
struct Row {
  const T* x;
  const accum_t<T>*w, *c;
  i64 h;
};

template <class T>
void write_row(const Row<T>& r, const Stats<accum_t<T>>& s, T* y) {
  each_vector<accum_t<T>>(0, r.h, [&](i64 i, auto part) {
    store(y + i, (load(r.x + i, part) - s.mean) * s.rstd * load(r.w + i, part) + load(r.c + i, part), part);
  });
}

template <class T>
Stats<accum_t<T>> forward_row(const T* x, const accum_t<T>* w, const accum_t<T>* c, i64 h, double eps, T* y) {
  using A = accum_t<T>;
  const A mean = sum_over<A>(h, [&](i64 i, auto part) { return load(x + i, part); }) / A(h);
  const A squares = sum_over<A>(h, [&](i64 i, auto part) {
    const Vec<A> v = only<A>(load(x + i, part) - mean, part);
    return v * v;
  });
  const A rstd = 1 / std::sqrt(squares / A(h) + A(eps));
  write_row({x, w, c, h}, Stats<A>{mean, rstd}, y);
  return {mean, rstd};
}

template <class T>
struct BackwardRow {
  const T *dy, *x, *residual;  // residual: may be null
  Stats<accum_t<T>> stats;
  T* dx;
};

// Adds to dw and dc.
template <class T>
void backward_row(const BackwardRow<T>& r, const accum_t<T>* w, i64 h, accum_t<T>* dw, accum_t<T>* dc) {
  using A = accum_t<T>;
  const A mean = r.stats.mean, rstd = r.stats.rstd;
  const A sum_g = sum_over<A>(h, [&](i64 i, auto part) { return load(r.dy + i, part) * load(w + i, part); });
  const A sum_gn = sum_over<A>(h, [&](i64 i, auto part) {
    const Vec<A> d = load(r.dy + i, part), n = (load(r.x + i, part) - mean) * rstd;
    store(dw + i, load(dw + i, part) + d * n, part);
    store(dc + i, load(dc + i, part) + d, part);
    return d * load(w + i, part) * n;
  });
  const A mean_g = sum_g / A(h), mean_gn = sum_gn / A(h);
  each_vector<A>(0, h, [&](i64 i, auto part) {
    const Vec<A> g = load(r.dy + i, part) * load(w + i, part), n = (load(r.x + i, part) - mean) * rstd;
    const Vec<A> d = rstd * (g - mean_g - n * mean_gn);
    store(r.dx + i, r.residual ? load(r.residual + i, part) + d : d, part);
  });
}

template <class T>
Kernel forward(const KernelContext& context, double eps) {
  using A = accum_t<T>;
  const NormShape shape(context.in_shape(0));
  const DType wt = context.ins[1].dtype, ct = context.ins[2].dtype;
  return {2 * shape.hp * i64(sizeof(A)), [shape, wt, ct, eps](const Args& a) {
            A *w = reinterpret_cast<A*>(a.workspace), *c = w + shape.hp;
            widen(wt, a.ins[1], shape.h, w);
            widen(ct, a.ins[2], shape.h, c);
            parallel_for(shape.rows, shape.grain(), [&](i64 row) {
              const i64 at = row * shape.h;
              const Stats<A> s = forward_row(a.in<T>(0) + at, w, c, shape.h, eps, a.out<T>(0) + at);
              a.out<A>(1)[row] = s.mean, a.out<A>(2)[row] = s.rstd;
            });
          }};
}

template <class T>
Kernel backward(const KernelContext& context, bool residual, bool with_output) {
  using A = accum_t<T>;
  const NormShape shape(context.in_shape(1));
  const DType wt = context.ins[2].dtype, ct = context.ins.back().dtype, dwt = context.outs[1].dtype,
              dct = context.outs[2].dtype;
  return {
      (2 + 2 * shape.chunks) * shape.hp * i64(sizeof(A)),
      [shape, wt, ct, dwt, dct, residual, with_output](const Args& a) {
        A *w = reinterpret_cast<A*>(a.workspace), *c = w + shape.hp, *partial = c + shape.hp;
        widen(wt, a.ins[2], shape.h, w);
        if (with_output) widen(ct, a.ins.back(), shape.h, c);
        parallel_for(shape.chunks, 1, [&](i64 k) {
          A *dw = partial + 2 * k * shape.hp, *dc = dw + shape.hp;
          std::fill(dw, dw + 2 * shape.hp, A(0));
          for (i64 row = k * shape.chunk; row < std::min(shape.rows, (k + 1) * shape.chunk); ++row) {
            const i64 at = row * shape.h;
            const T* beside = residual ? a.in<T>(5) + at : nullptr;
            const Stats<A> stats{a.in<A>(3)[row], a.in<A>(4)[row]};
            backward_row<T>({a.in<T>(0) + at, a.in<T>(1) + at, beside, stats, a.out<T>(0) + at}, w, shape.h, dw, dc);
            if (with_output) write_row({a.in<T>(1) + at, w, c, shape.h}, stats, a.out<T>(3) + at);
          }
        });
        add_chunks(shape, partial, 2 * shape.hp, dwt, a.outs[1]);
        add_chunks(shape, partial + shape.hp, 2 * shape.hp, dct, a.outs[2]);
      }};
}

}  // namespace

Kernel prepare(const LayerNorm& op, const KernelContext& context) {
  return dispatch_float(context.ins[0].dtype, [&]<class T>() { return forward<T>(context, op.eps); });
}

Kernel prepare(const LayerNormGrad& op, const KernelContext& context) {
  const DType dtype = context.ins[1].dtype;
  const Kernel k = dispatch_float(dtype, [&]<class T>() { return backward<T>(context, op.residual, op.with_output); });
  return op.bias ? with_bias(k, dtype, context.in_shape(1), 3 + op.with_output) : k;
}

}  // namespace megalith::cpu
