// exp, the logistic function and the normal distribution on vectors. f32 uses polynomials with errors of a few ulp. f64
// is for tests, and calls the standard library lane by lane. Coefficients are from least squares, reweighted to
// minimise the largest relative error.
#pragma once
#include <cmath>
#include <limits>

#include "exec/cpu/vector.h"

namespace megalith::cpu {

// e^x within 2 ulp. 0 below x = -86.6, infinity above 88.73. With n = round(x / ln 2), it is 2^n times a polynomial of
// degree 6.
inline Vec<float> exp(Vec<float> x) {
  constexpr float kRound = 0x1.8p23f + 126;  // adding it rounds, and leaves n + 126 in the low bits
  const Vec<float> in = x < -87.0f ? fill(-87.0f) : x > 89.0f ? fill(89.0f) : x;
  const Vec<float> shifted = in * 1.44269504088896341f + kRound;
  const Vec<float> n = shifted - kRound;
  Vec<float> r = in - n * 0.693145751953125f;  // ln 2 in two parts; the first has few bits
  r = r - n * 1.42860682030941723e-6f;
  Vec<float> q = fill(1.381422239e-03f);
  q = q * r + 8.368899027e-03f;
  q = q * r + 4.166840574e-02f;
  q = q * r + 1.666651913e-01f;
  q = q * r + 4.999999335e-01f;
  const Vec<float> p = r * r * q + r + 1.0f;
  const Vec<float> half = p * Vec<float>(Vec<i32>(shifted) << 23);  // 2^(n - 1), because 2^128 is not a float
  const Vec<float> y = half + half;
  return x < -86.6f ? Vec<float>{} : x > 88.73f ? fill(std::numeric_limits<float>::infinity()) : y;
}
inline Vec<double> exp(Vec<double> x) {
  for (int i = 0; i < kLanes<double>; ++i) x[i] = std::exp(x[i]);
  return x;
}

// s = 1 / (1 + e^-x) and 1 - s, both without cancellation, within 4 ulp.
template <class A>
struct Logistic {
  Vec<A> s, rest;
};
template <class A>
Logistic<A> logistic(Vec<A> x) {
  const Vec<A> e = exp(x > A(0) ? -x : x);
  const Vec<A> one = fill(A(1)), d = one / (one + e);
  return {x > A(0) ? d : e * d, x > A(0) ? e * d : d};
}

// The normal distribution. cdf(x) = P(X < x) is within 7 ulp, also in the lower tail. The
// density is within 4 ulp.
template <class A>
struct Normal {
  Vec<A> cdf, density;
};
// cdf(-z) = e^(-z^2 / 2) t P(t), t = 1 / (1 + 0.3 z), for z = |x|. The exponential includes the rounding error of x *
// x.
inline Normal<float> normal_distribution(Vec<float> x) {
  const Vec<float> size = x < 0.0f ? -x : x, z = size > 15.0f ? fill(15.0f) : size, square = z * z;
  const Vec<float> high = Vec<float>(Vec<u32>(z) & 0xfffff000u), low = z - high;  // products of the parts are exact
  const Vec<float> lost = (high * high - square) + 2.0f * high * low + low * low;
  const Vec<float> e = exp(square * -0.5f) * (1.0f - 0.5f * lost);
  const Vec<float> t = 1.0f / (1.0f + 0.3f * z);
  Vec<float> p = fill(-2.062325525e-02f);
  for (float c : {1.124345397e-01f, -2.282112807e-01f, 1.917817140e-01f, -7.942136994e-02f, 9.615581353e-02f,
                  7.838996094e-02f, 1.102353667e-01f, 1.195718198e-01f, 1.196866896e-01f})
    p = p * t + c;
  const Vec<float> tail = e * (p * t);
  return {x < 0.0f ? tail : 1.0f - tail, e * 0.398942280401432678f};
}
inline Normal<double> normal_distribution(Vec<double> x) {
  Normal<double> out;
  for (int i = 0; i < kLanes<double>; ++i) {
    out.cdf[i] = 0.5 * std::erfc(-x[i] * 0.70710678118654752440);
    out.density[i] = std::exp(-0.5 * x[i] * x[i]) * 0.39894228040143267794;
  }
  return out;
}

}  // namespace megalith::cpu
