// Kernels of ExpertActivation and its gradient: y = act(u) w, where w is a row's weight. A row of u is gate [f] then up
// [f], or x [f].
#include "base/threads.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/acts.h"
#include "exec/cpu/kernels/gates.h"

namespace megalith::cpu {

namespace {

// Elements of a row. value() is act(u). slope() writes the cotangent of u, from d, the cotangent of act(u).
template <class F, class T>
struct Gated {
  using A = accum_t<T>;
  static constexpr int kWidth = 2;
  template <class P>
  static Vec<A> value(const T* u, i64 f, i64 i, P part) {
    const Vec<A> x = load(u + i, part);
    return x * logistic<A>(F::template argument<A>(x)).s * load(u + f + i, part);
  }
  template <class P>
  static Vec<A> slope(const T* u, i64 f, i64 i, Vec<A> d, T* du, P part) {
    const Vec<A> x = load(u + i, part), up = load(u + f + i, part);
    const Logistic<A> l = logistic<A>(F::template argument<A>(x));
    store(du + i, d * up * (l.s + F::template times_slope<A>(x * (l.s * l.rest), x)), part);
    store(du + f + i, d * (x * l.s), part);
    return x * l.s * up;
  }
};

template <class F, class T>
struct Plain {
  using A = accum_t<T>;
  static constexpr int kWidth = 1;
  template <class P>
  static Vec<A> value(const T* u, i64, i64 i, P part) {
    return F::template value<A>(load(u + i, part));
  }
  template <class P>
  static Vec<A> slope(const T* u, i64, i64 i, Vec<A> d, T* du, P part) {
    const Vec<A> x = load(u + i, part);
    const Vec<A> y = F::template value<A>(x);
    store(du + i, d * F::template slope<A>(x), part);
    return y;
  }
};

template <class G, class T>
Kernel forward(i64 f, i64 experts) {
  using A = accum_t<T>;
  return {0, [=](const Args& a) {
            parallel_for(a.in<i32>(2)[experts - 1], 1, [&](i64 r) {
              const T* u = a.in<T>(0) + r * G::kWidth * f;
              T* y = a.out<T>(0) + r * f;
              const A w = a.in<A>(1)[r];
              each_vector<A>(0, f, [&](i64 i, auto part) { store(y + i, G::value(u, f, i, part) * w, part); });
            });
          }};
}

// Each sum adds the vectors in order, then the lanes. With `with_output`, y may overwrite dy and du may overwrite u,
// because each element is read before it is written.
template <class G, class T>
Kernel gradient(i64 f, i64 experts, bool with_output) {
  using A = accum_t<T>;
  return {0, [=](const Args& a) {
            parallel_for(a.in<i32>(3)[experts - 1], 1, [&](i64 r) {
              const T *dy = a.in<T>(0) + r * f, *u = a.in<T>(1) + r * G::kWidth * f;
              T *du = a.out<T>(0) + r * G::kWidth * f, *y = with_output ? a.out<T>(2) + r * f : nullptr;
              const A w = a.in<A>(2)[r];
              Vec<A> sum = {};
              each_vector<A>(0, f, [&](i64 i, auto part) {
                const Vec<A> d = load(dy + i, part), act = G::slope(u, f, i, d * w, du, part);
                sum += only<A>(d * act, part);
                if (y) store(y + i, act * w, part);
              });
              a.out<A>(1)[r] = sum_lanes<A>(sum);
            });
          }};
}

// Calls f with the functions of `act` on a row and the C++ type of `dtype`.
template <class F>
Kernel dispatch(const ExpertAct& act, DType dtype, F&& f) {
  if (act.gated)
    return dispatch_gate(act.gate, dtype, [&]<class G, class T>() { return f.template operator()<Gated<G, T>, T>(); });
  return dispatch_act(act.act, dtype, [&]<class G, class T>() { return f.template operator()<Plain<G, T>, T>(); });
}

}  // namespace

Kernel prepare(const ExpertActivation& op, const KernelContext& context) {
  const i64 f = context.out_shape(0)[1], experts = context.in_shape(2)[1];
  return dispatch(op.act, context.ins[0].dtype, [&]<class G, class T>() { return forward<G, T>(f, experts); });
}

Kernel prepare(const ExpertActivationGrad& op, const KernelContext& context) {
  const i64 f = context.in_shape(0)[1], experts = context.in_shape(3)[1];
  return dispatch(op.act, context.ins[1].dtype,
                  [&]<class G, class T>() { return gradient<G, T>(f, experts, op.with_output); });
}

}  // namespace megalith::cpu
