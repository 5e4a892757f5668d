// Gates of MLPs: act(x) = x s with s = logistic(u(x)), derivative s + x s (1 - s) u'(x).
#pragma once
#include "exec/cuda/kernels/device_math.cuh"
#include "exec/cuda/kernels/swiglu.h"

namespace megalith::cuda {

// u, and y times its derivative.
struct SiluGate {
  static __device__ float argument(float x) { return x; }
  static __device__ float times_slope(float y, float) { return y; }
};

struct QuickGeluGate {
  static __device__ float argument(float x) { return 1.702f * x; }
  static __device__ float times_slope(float y, float) { return 1.702f * y; }
};

// 2 sqrt(2 / pi) (x + 0.044715 x^3)
struct GeluTanhGate {
  static constexpr float kTwiceRoot = 1.59576912160573071f, kCubic = kTwiceRoot * 0.044715f;
  static __device__ float argument(float x) { return x * fmaf(kCubic, x * x, kTwiceRoot); }
  static __device__ float times_slope(float y, float x) { return y * fmaf(3 * kCubic, x * x, kTwiceRoot); }
};

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
