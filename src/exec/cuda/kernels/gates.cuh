// Gates of MLPs: act(x) = x s with s = logistic(u(x)), derivative s + x s (1 - s) u'(x).
#pragma once
#include "exec/cuda/kernels/device_math.cuh"
#include "exec/cuda/kernels/pack.cuh"
#include "exec/cuda/kernels/swiglu.h"

namespace megalith::cuda {

// u, and the derivative s + act (1 - s) u'(x). A large x must not overflow where 1 - s is 0.
struct SiluGate {
  static __device__ float argument(float x) { return x; }
  static __device__ float slope(float act, const Logistic& l, float) { return fmaf(act, l.rest, l.s); }
};

struct QuickGeluGate {
  static __device__ float argument(float x) { return 1.702f * x; }
  static __device__ float slope(float act, const Logistic& l, float) { return fmaf(act * l.rest, 1.702f, l.s); }
};

// 2 sqrt(2 / pi) (x + 0.044715 x^3)
struct GeluTanhGate {
  static constexpr float kTwiceRoot = 1.59576912160573071f, kCubic = kTwiceRoot * 0.044715f;
  static __device__ float argument(float x) { return x * fmaf(kCubic, x * x, kTwiceRoot); }
  static __device__ float slope(float act, const Logistic& l, float x) {
    return fmaf(act * l.rest, fmaf(3 * kCubic, x * x, kTwiceRoot), l.s);
  }
};

// act(gate) up, of packs of T. F: the gate's function.
template <class F, class T, int N>
__device__ inline Numbers<float, N> gated(const Numbers<float, N>& gate, const Numbers<float, N>& up) {
  Numbers<float, N> y;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const float s = logistic_for_sums<kPrecise<T>>(F::argument(gate.x[k])).s;
    y.x[k] = gate.x[k] * s * up.x[k];
  }
  return y;
}

// The same. With d, the cotangent of y: the cotangents of gate and up.
template <int N>
struct GatedSlopes {
  Numbers<float, N> dgate, dup, y;
};
template <class F, class T, int N>
__device__ inline GatedSlopes<N> gated_slopes(const Numbers<float, N>& d, const Numbers<float, N>& gate,
                                              const Numbers<float, N>& up) {
  GatedSlopes<N> out;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const float g = gate.x[k], v = up.x[k];
    const Logistic l = logistic_for_sums<kPrecise<T>>(F::argument(g));
    const float act = g * l.s;
    out.dgate.x[k] = d.x[k] * v * F::slope(act, l, g);
    out.dup.x[k] = d.x[k] * act;
    out.y.x[k] = act * v;
  }
  return out;
}

// Calls g with the gate's function.
template <class G>
void with_gate(GateKind act, G&& g) {
  if (act == GateKind::gelu_tanh)
    g.template operator()<GeluTanhGate>();
  else if (act == GateKind::quick_gelu)
    g.template operator()<QuickGeluGate>();
  else
    g.template operator()<SiluGate>();
}

}  // namespace megalith::cuda
