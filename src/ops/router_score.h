// How a router's logit becomes a score, written once for all backends.
//   softmax: e^z over the sum of all experts' e^z      sigmoid: 1 / (1 + e^-z)      sqrtsoftplus: sqrt(log(1 + e^z))
#pragma once
#include <cmath>
#include <string_view>

#include "base/dtype.h"

namespace megalith {

enum class RouterScore : u8 { softmax, sigmoid, sqrtsoftplus };
constexpr std::string_view name_of(RouterScore s) {
  constexpr std::string_view names[] = {"softmax", "sigmoid", "sqrtsoftplus"};
  return names[int(s)];
}

constexpr double kScoreSumEps = 1e-20;  // is added to a sum of scores before a division by it

// The score of one logit. A: float or double. Callable from device code.
template <class A>
constexpr A sigmoid_of(A z) {
  const A e = std::exp(z < A(0) ? z : -z);
  return z < A(0) ? e / (A(1) + e) : A(1) / (A(1) + e);
}
template <class A>
constexpr A score_of(RouterScore kind, A z) {
  if (kind == RouterScore::sigmoid) return sigmoid_of(z);
  const A above = z < A(0) ? A(0) : z;
  return std::sqrt(above + std::log1p(std::exp(z < A(0) ? z : -z)));
}
// The derivative, for s = score_of(z). If s underflows to 0, so does the derivative.
template <class A>
constexpr A slope_of(RouterScore kind, A z, A s) {
  if (kind == RouterScore::sigmoid) return s * sigmoid_of(-z);
  return s == A(0) ? A(0) : sigmoid_of(z) / (s + s);
}

}  // namespace megalith
