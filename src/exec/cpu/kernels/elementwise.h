// Elementwise loops with explicit vectors, so that bf16 conversion is as fast as memory. Elements past the last full
// vector are computed in the same way as the others.
#pragma once
#include <type_traits>

#include "exec/cpu/vector.h"

namespace megalith::cpu {

// y[i] = f(x[i]...) for i < n. y may be one of the x. f takes vectors, or numbers if the accumulation types differ (f32
// with f64).
template <class F, class Y, class... X>
void map(i64 n, F&& f, Y* y, const X*... x) {
  using S = std::common_type_t<accum_t<Y>, accum_t<X>...>;
  if constexpr ((std::is_same_v<accum_t<Y>, accum_t<X>> && ...))
    each_vector<S>(0, n, [&](i64 i, auto part) { store(y + i, f(load(x + i, part)...), part); });
  else
    for (i64 i = 0; i < n; ++i) y[i] = Y(f(S(x[i])...));
}

constexpr auto kSame = [](auto a) { return a; };
constexpr auto kPlus = [](auto a, auto b) { return a + b; };
constexpr auto kTimes = [](auto a, auto b) { return a * b; };

// Sums in f64. These are plain loops, because GCC 12 widens f32 to f64 faster in them than with explicit vectors.
template <class X>
double sum_of(const X* x, i64 n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (i64 i = 0; i < n; ++i) sum += double(x[i]);
  return sum;
}
// Reads four streams at once, because memory is faster with several streams.
template <class X, class W>
double sum_of_products(const X* x, const W* w, i64 n) {
  const i64 q = n / 4;
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
  for (i64 i = 0; i < q; ++i) {
    s0 += double(x[i]) * double(w[i]);
    s1 += double(x[i + q]) * double(w[i + q]);
    s2 += double(x[i + 2 * q]) * double(w[i + 2 * q]);
    s3 += double(x[i + 3 * q]) * double(w[i + 3 * q]);
  }
  for (i64 i = 4 * q; i < n; ++i) s0 += double(x[i]) * double(w[i]);
  return (s0 + s1) + (s2 + s3);
}

}  // namespace megalith::cpu
