// Shared code of the router's kernels: the scores of one token, and the k largest of some numbers.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>

#include "exec/cpu/kernel.h"

namespace megalith::cpu {

// The router computes in f32, and in f64 for tests.
template <class F>
Kernel for_router(std::string_view op, DType t, F&& f) {
  check(t == DType::f32 || t == DType::f64, "[{}] logits in {}: want f32", op, name_of(t));
  return t == DType::f64 ? f.template operator()<double>() : f.template operator()<float>();
}

// Softmax: s[i] = e^(z[i] - m) / sum, where m is the largest z[i].
template <class A>
void softmax_of(const A* z, i64 n, A* s) {
  const A most = *std::max_element(z, z + n);
  A sum = 0;
  for (i64 i = 0; i < n; ++i) sum += s[i] = std::exp(z[i] - most);
  for (i64 i = 0; i < n; ++i) s[i] /= sum;
}

template <class A>
void scores_of(RouterScore kind, const A* z, i64 n, A* s) {
  if (kind == RouterScore::softmax) return softmax_of(z, n, s);
  for (i64 i = 0; i < n; ++i) s[i] = score_of(kind, z[i]);
}

// Replaces ds by dz, where s is the softmax of z: dz = s (ds - sum of ds s).
template <class A>
void softmax_grad(const A* s, i64 n, A* ds) {
  A sum = 0;
  for (i64 i = 0; i < n; ++i) sum += ds[i] * s[i];
  for (i64 i = 0; i < n; ++i) ds[i] = s[i] * (ds[i] - sum);
}

// The index of the largest x[i] with may[i] that is not chosen yet. Ties: the lower i. One must exist.
template <class A>
i64 choose_largest(const A* x, const u8* may, i64 n, u8* chosen) {
  i64 best = -1;
  for (i64 i = 0; i < n; ++i)
    if (may[i] && !chosen[i] && (best < 0 || x[i] > x[best])) best = i;
  chosen[best] = 1;
  return best;
}

template <class A>
void choose_largest(const A* x, const u8* may, i64 n, i64 k, u8* chosen) {
  std::fill(chosen, chosen + n, u8(0));
  for (i64 j = 0; j < k; ++j) choose_largest(x, may, n, chosen);
}

}  // namespace megalith::cpu
