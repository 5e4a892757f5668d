// gelu: x cdf(x), with the normal distribution; derivative cdf(x) + x density(x).
// gelu_tanh: x (1 + tanh(u)) / 2 = x logistic(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
#include "base/threads.h"
#include "exec/cpu/kernels/with_bias.h"
#include "exec/cpu/vector_math.h"

namespace megalith::cpu {
namespace {

constexpr double kTwiceRoot = 1.59576912160573071;  // 2 sqrt(2 / pi)
constexpr double kCubic = 0.044715;
constexpr i64 kGrain = 4096;

struct Gelu {
  template <class A>
  static Vec<A> value(Vec<A> x) {
    return x * normal_distribution(x).cdf;
  }
  template <class A>
  static Vec<A> slope(Vec<A> x) {
    const Normal<A> n = normal_distribution(x);
    return n.cdf + x * n.density;
  }
};

struct GeluTanh {
  template <class A>
  static Vec<A> value(Vec<A> x) {
    return x * logistic<A>(x * (A(kTwiceRoot) + A(kTwiceRoot * kCubic) * x * x)).s;
  }
  template <class A>
  static Vec<A> slope(Vec<A> x) {
    const Vec<A> square = x * x;
    const Logistic<A> l = logistic<A>(x * (A(kTwiceRoot) + A(kTwiceRoot * kCubic) * square));
    return l.s + x * (l.s * l.rest) * (A(kTwiceRoot) + A(3 * kTwiceRoot * kCubic) * square);
  }
};

struct SquaredRelu {
  template <class A>
  static Vec<A> value(Vec<A> x) {
    return x < A(0) ? Vec<A>{} : x * x;
  }
  template <class A>
  static Vec<A> slope(Vec<A> x) {
    return x < A(0) ? Vec<A>{} : x + x;
  }
};

template <class F, class T>
Kernel value_kernel(i64 n) {
  using A = accum_t<T>;
  return {0, [n](const Args& a) {
            const T* x = a.in<T>(0);
            T* y = a.out<T>(0);
            parallel_ranges(n, kGrain, [&](i64 begin, i64 end) {
              each_vector<A>(begin, end,
                             [&](i64 i, auto part) { store(y + i, F::template value<A>(load(x + i, part)), part); });
            });
          }};
}

template <class F, class T>
Kernel slope_kernel(i64 n, bool again) {
  using A = accum_t<T>;
  return {0, [n, again](const Args& a) {
            const T *dy = a.in<T>(0), *x = a.in<T>(1);
            T *dx = a.out<T>(0), *y = again ? a.out<T>(1) : nullptr;
            parallel_ranges(n, kGrain, [&](i64 begin, i64 end) {
              each_vector<A>(begin, end, [&](i64 i, auto part) {
                const Vec<A> at = load(x + i, part);
                store(dx + i, load(dy + i, part) * F::template slope<A>(at), part);
                if (y) store(y + i, F::template value<A>(at), part);
              });
            });
          }};
}

// Calls f with the functions of `act` and the C++ type of `dtype`.
template <class F>
Kernel dispatch(Act act, DType dtype, F&& f) {
  return dispatch_float(dtype, [&]<class T>() {
    if (act == Act::gelu) return f.template operator()<Gelu, T>();
    if (act == Act::gelu_tanh) return f.template operator()<GeluTanh, T>();
    return f.template operator()<SquaredRelu, T>();
  });
}

}  // namespace

Kernel prepare(const Activate& op, const Site& site) {
  const i64 n = count(site.in_shape(0));
  return dispatch(op.act, site.ins[0].dtype, [&]<class F, class T>() { return value_kernel<F, T>(n); });
}

Kernel prepare(const ActivateGrad& op, const Site& site) {
  const i64 n = count(site.in_shape(1));
  const DType dtype = site.ins[1].dtype;
  const Kernel k = dispatch(op.act, dtype, [&]<class F, class T>() { return slope_kernel<F, T>(n, op.again); });
  return op.bias ? with_bias(k, dtype, site.in_shape(1), op.again ? 2 : 1) : k;
}

}  // namespace megalith::cpu
