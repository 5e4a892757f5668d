// f32 functions of few instructions: the memory time of a bf16 element allows about thirty. `kPrecise` (for f32
// data): the exponential is within 2 ulp. Otherwise it is within 2^-21 for results that are added to numbers near 1.
#pragma once
#include <type_traits>

#include "exec/cuda/launch.cuh"

namespace megalith::cuda {

template <class T>
constexpr bool kPrecise = std::is_same_v<T, float>;

constexpr float kLog2E = 1.44269504088896341f;

__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float reciprocal(float x) {  // within 1 ulp; 0 for infinity
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float sqrt_fast(float x) {  // within 1 ulp
  float y;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
template <bool kPrecisely>
__device__ inline float exponential(float x) {
  if constexpr (kPrecisely)
    return expf(x);
  else
    return exp2_fast(x * kLog2E);
}

// s = 1 / (1 + e^-x) and 1 - s, both without cancellation.
struct Logistic {
  float s, rest;
};
template <bool kPrecisely>
__device__ inline Logistic logistic(float x) {
  const float e = exponential<kPrecisely>(-fabsf(x)), d = reciprocal(1.0f + e);
  return {x > 0 ? d : e * d, x > 0 ? e * d : d};
}

// The same for sums with numbers near s: not precisely, the rest has an absolute error of 2^-24.
template <bool kPrecisely>
__device__ inline Logistic logistic_for_sums(float x) {
  if constexpr (kPrecisely) return logistic<true>(x);
  const float s = reciprocal(1.0f + exp2_fast(x * -kLog2E));
  return {s, 1.0f - s};
}

// The normal distribution: cdf(x) = P(X < x), also in the lower tail, and its density.
struct Normal {
  float cdf, density;
};
// cdf(-z) = e^(-z^2 / 2) t P(t), t = 1 / (1 + 0.3 z), for z = |x|. P is fitted to a relative error of 1.5e-7. The
// exponential includes the rounding error of z * z.
template <bool kPrecisely>
__device__ inline Normal normal_distribution(float x) {
  const float z = fminf(fabsf(x), 15.0f), square = z * z;
  float e = exponential<kPrecisely>(-0.5f * square);
  if constexpr (kPrecisely) e *= 1.0f - 0.5f * fmaf(z, z, -square);
  const float t = reciprocal(fmaf(0.3f, z, 1.0f));
  float p = 3.567459529e-02f;
  p = fmaf(p, t, -1.572022925e-01f);
  p = fmaf(p, t, 2.063520744e-01f);
  p = fmaf(p, t, -5.368226819e-02f);
  p = fmaf(p, t, 1.285608714e-01f);
  p = fmaf(p, t, 9.991372814e-02f);
  p = fmaf(p, t, 1.207539172e-01f);
  p = fmaf(p, t, 1.196293014e-01f);
  const float tail = e * (p * t);
  return {x < 0 ? tail : fmaf(-e, p * t, 1.0f), e * 0.398942280401432678f};
}

}  // namespace megalith::cuda
