// Activations and their derivatives.
// gelu: x cdf(x), with the normal distribution; derivative cdf(x) + x density(x).
// gelu_tanh: x (1 + tanh(u)) / 2 = x logistic(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
// tanh: derivative 1 - tanh(x)^2 = 4 logistic(2 x) logistic(-2 x).
#pragma once
#include "exec/cpu/vector_math.h"
#include "ops/activate.h"

namespace megalith::cpu {
namespace acts {

constexpr double kTwiceRoot = 1.59576912160573071;  // 2 sqrt(2 / pi)
constexpr double kCubic = 0.044715;

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

// Computed lane by lane, because its tensors are small.
struct Tanh {
  template <class A>
  static Vec<A> value(Vec<A> x) {
    for (int i = 0; i < kLanes<A>; ++i) x[i] = std::tanh(x[i]);
    return x;
  }
  template <class A>
  static Vec<A> slope(Vec<A> x) {
    const Logistic<A> l = logistic<A>(x + x);
    return A(4) * l.s * l.rest;
  }
};

struct Relu {
  template <class A>
  static Vec<A> value(Vec<A> x) {
    return x < A(0) ? Vec<A>{} : x;
  }
  template <class A>
  static Vec<A> slope(Vec<A> x) {
    return x > A(0) ? fill(A(1)) : x == x ? Vec<A>{} : x;  // NaN stays NaN
  }
};

}  // namespace acts

// Calls f with the functions of `act` and the C++ type of `dtype`.
template <class F>
auto dispatch_act(Act act, DType dtype, F&& f) {
  return dispatch_float(dtype, [&]<class T>() {
    if (act == Act::gelu) return f.template operator()<acts::Gelu, T>();
    if (act == Act::gelu_tanh) return f.template operator()<acts::GeluTanh, T>();
    if (act == Act::squared_relu) return f.template operator()<acts::SquaredRelu, T>();
    if (act == Act::tanh) return f.template operator()<acts::Tanh, T>();
    return f.template operator()<acts::Relu, T>();
  });
}

}  // namespace megalith::cpu
