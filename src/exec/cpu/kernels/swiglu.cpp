// y = act(gate) up (gates.h). A row of x is gate [f], then up [f].
#include "base/threads.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/gates.h"
#include "exec/cpu/kernels/magnitude.h"

namespace megalith::cpu {
namespace {

i64 rows_for(i64 f) { return std::max<i64>(1, 4096 / std::max<i64>(1, f)); }

template <class F, class T>
Kernel swiglu(i64 rows, i64 f, bool gives_amax) {
  using A = accum_t<T>;
  return {0, [rows, f, gives_amax](const Args& a) {
            const AmaxOfParts amax(gives_amax ? a.out<float>(1) : nullptr);
            parallel_for(rows, rows_for(f), [&](i64 row) {
              const T *gate = a.in<T>(0) + row * 2 * f, *up = gate + f;
              T* y = a.out<T>(0) + row * f;
              each_vector<A>(0, f, [&](i64 i, auto part) {
                const Vec<A> x = load(gate + i, part);
                store(y + i, x * logistic<A>(F::template argument<A>(x)).s * load(up + i, part), part);
              });
              amax.see(y, f);
            });
          }};
}

template <class F, class T>
Kernel swiglu_grad(i64 rows, i64 f, bool with_output, bool gives_amax) {
  using A = accum_t<T>;
  return {0, [rows, f, with_output, gives_amax](const Args& a) {
            const AmaxOfParts amax(gives_amax ? a.out<float>(1 + with_output) : nullptr);
            parallel_for(rows, rows_for(f), [&](i64 row) {
              const T *dy = a.in<T>(0) + row * f, *gate = a.in<T>(1) + row * 2 * f, *up = gate + f;
              T *dgate = a.out<T>(0) + row * 2 * f, *dup = dgate + f,
                *y = with_output ? a.out<T>(1) + row * f : nullptr;
              each_vector<A>(0, f, [&](i64 i, auto part) {
                const Vec<A> d = load(dy + i, part), x = load(gate + i, part), u = load(up + i, part);
                const Logistic<A> l = logistic<A>(F::template argument<A>(x));
                store(dgate + i, d * u * (l.s + F::template times_slope<A>(x * (l.s * l.rest), x)), part);
                store(dup + i, d * (x * l.s), part);
                if (y) store(y + i, x * l.s * u, part);
              });
              amax.see(dgate, 2 * f);
            });
          }};
}

}  // namespace

Kernel prepare(const Swiglu& op, const KernelContext& context) {
  const Shape y = context.out_shape(0);
  return dispatch_gate(op.act, context.ins[0].dtype,
                       [&]<class F, class T>() { return swiglu<F, T>(y[0] * y[1], y[2], op.gives_amax); });
}

Kernel prepare(const SwigluGrad& op, const KernelContext& context) {
  const Shape dy = context.in_shape(0);
  return dispatch_gate(op.act, context.ins[1].dtype, [&]<class F, class T>() {
    return swiglu_grad<F, T>(dy[0] * dy[1], dy[2], op.with_output, op.gives_amax);
  });
}

}  // namespace megalith::cpu
