// Activations and their derivatives.
// gelu: x cdf(x), with the normal distribution; derivative cdf(x) + x density(x).
// gelu_tanh: x (1 + tanh(u)) / 2 = x logistic(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
// tanh: derivative 1 - tanh(x)^2 = 4 logistic(2 x) logistic(-2 x).
#pragma once
#include "exec/cuda/kernels/activate.h"
#include "exec/cuda/kernels/device_math.cuh"
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

constexpr float kTwiceRoot = 1.59576912160573071f;  // 2 sqrt(2 / pi)
constexpr float kCubic = kTwiceRoot * 0.044715f;

template <bool kPrecisely>
struct Gelu {
  static __device__ float value(float x) {
    // fminf and fmaxf drop a NaN; the product with x restores it
    return x * normal_distribution<kPrecisely>(x).cdf;
  }
  static __device__ float slope(float x) {
    const Normal n = normal_distribution<kPrecisely>(x);
    return fmaf(x, n.density, n.cdf);
  }
};

template <bool kPrecisely>
struct GeluTanh {
  static __device__ float value(float x) { return x * logistic<kPrecisely>(x * fmaf(kCubic, x * x, kTwiceRoot)).s; }
  static __device__ float slope(float x) {
    const float square = x * x;
    const Logistic l = logistic<kPrecisely>(x * fmaf(kCubic, square, kTwiceRoot));
    return fmaf(x * (l.s * l.rest), fmaf(3 * kCubic, square, kTwiceRoot), l.s);
  }
};

template <bool>
struct SquaredRelu {
  static __device__ float value(float x) { return x < 0 ? 0.0f : x * x; }
  static __device__ float slope(float x) { return x < 0 ? 0.0f : x + x; }
};

template <bool>
struct Relu {
  static __device__ float value(float x) { return x < 0 ? 0.0f : x; }
  static __device__ float slope(float x) { return x > 0 ? 1.0f : 0.0f; }
};

template <bool kPrecisely>
struct Tanh {
  static __device__ float value(float x) { return tanhf(x); }
  static __device__ float slope(float x) {
    const Logistic l = logistic<kPrecisely>(x + x);
    return 4 * l.s * l.rest;
  }
};

// Calls f with the function of `act` and the element type.
template <class F>
void with_act(ActKind act, DType dtype, F&& f) {
  dispatch_activation(dtype, [&]<class T>() {
    if (act == ActKind::gelu)
      f.template operator()<Gelu<kPrecise<T>>, T>();
    else if (act == ActKind::gelu_tanh)
      f.template operator()<GeluTanh<kPrecise<T>>, T>();
    else if (act == ActKind::squared_relu)
      f.template operator()<SquaredRelu<kPrecise<T>>, T>();
    else if (act == ActKind::relu)
      f.template operator()<Relu<kPrecise<T>>, T>();
    else
      f.template operator()<Tanh<kPrecise<T>>, T>();
  });
}

}  // namespace megalith::cuda
