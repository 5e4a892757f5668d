// Gates of MLPs: act(x) = x s with s = logistic(u(x)), derivative s + x s (1 - s) u'(x).
#pragma once
#include "exec/cpu/vector_math.h"
#include "ops/swiglu.h"

namespace megalith::cpu {
namespace gates {

// u and its derivative.
struct Silu {
  template <class A>
  static Vec<A> argument(Vec<A> x) {
    return x;
  }
  template <class A>
  static Vec<A> times_slope(Vec<A> x, Vec<A>) {
    return x;
  }
};

struct QuickGelu {
  template <class A>
  static Vec<A> argument(Vec<A> x) {
    return A(1.702) * x;
  }
  template <class A>
  static Vec<A> times_slope(Vec<A> y, Vec<A>) {
    return A(1.702) * y;
  }
};

// 2 sqrt(2 / pi) (x + 0.044715 x^3)
struct GeluTanh {
  static constexpr double kTwiceRoot = 1.59576912160573071, kCubic = kTwiceRoot * 0.044715;
  template <class A>
  static Vec<A> argument(Vec<A> x) {
    return x * (A(kTwiceRoot) + A(kCubic) * x * x);
  }
  template <class A>
  static Vec<A> times_slope(Vec<A> y, Vec<A> x) {
    return y * (A(kTwiceRoot) + A(3 * kCubic) * x * x);
  }
};

}  // namespace gates

// Calls f with the function of `act` and the C++ type of `dtype`.
template <class F>
auto dispatch_gate(Gate act, DType dtype, F&& f) {
  return dispatch_float(dtype, [&]<class T>() {
    if (act == Gate::gelu_tanh) return f.template operator()<gates::GeluTanh, T>();
    if (act == Gate::quick_gelu) return f.template operator()<gates::QuickGelu, T>();
    return f.template operator()<gates::Silu, T>();
  });
}

}  // namespace megalith::cpu
