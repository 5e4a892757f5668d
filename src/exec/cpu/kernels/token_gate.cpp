// Kernels of TokenGate and its gradient.
#include <cmath>

#include "base/threads.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/vector.h"

namespace megalith::cpu {

namespace {

template <class A>
A logistic_of(A g) {
  const A e = std::exp(-std::abs(g));
  return (g > 0 ? A(1) : e) / (1 + e);
}

template <class T>
Kernel gate(bool logistic, i64 tokens, i64 h) {
  using A = accum_t<T>;
  return {0, [=](const Args& a) {
            parallel_for(tokens, 4, [&](i64 t) {
              const T* x = a.in<T>(0) + t * h;
              T* y = a.out<T>(0) + t * h;
              const A g = a.in<A>(1)[t], s = logistic ? logistic_of(g) : g;
              each_vector<A>(0, h, [&](i64 i, auto part) { store(y + i, load(x + i, part) * s, part); });
            });
          }};
}

template <class T>
Kernel gate_grad(bool logistic, i64 tokens, i64 h) {
  using A = accum_t<T>;
  return {0, [=](const Args& a) {
            parallel_for(tokens, 4, [&](i64 t) {
              const T *dy = a.in<T>(0) + t * h, *x = a.in<T>(1) + t * h;
              T* dx = a.out<T>(0) + t * h;
              const A g = a.in<A>(2)[t], s = logistic ? logistic_of(g) : g;
              Vec<A> sum = {};
              each_vector<A>(0, h, [&](i64 i, auto part) {
                const Vec<A> d = load(dy + i, part), at = load(x + i, part);
                sum += only<A>(d * at, part);
                store(dx + i, d * s, part);
              });
              const A total = sum_lanes<A>(sum);
              a.out<A>(1)[t] = logistic ? total * s * logistic_of(-g) : total;
            });
          }};
}

}  // namespace

Kernel prepare(const TokenGate& op, const KernelContext& context) {
  const Shape x = context.in_shape(0);
  return dispatch_float(context.ins[0].dtype, [&]<class T>() { return gate<T>(op.logistic, x[0] * x[1], x[2]); });
}

Kernel prepare(const TokenGateGrad& op, const KernelContext& context) {
  const Shape x = context.in_shape(0);
  return dispatch_float(context.ins[1].dtype, [&]<class T>() { return gate_grad<T>(op.logistic, x[0] * x[1], x[2]); });
}

}  // namespace megalith::cpu
