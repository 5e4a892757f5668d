// Kernels of AdamW and Sgd: one pass over a parameter and its state, bound by memory.
#include <cmath>

#include "base/split_float.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

namespace {

template <class S>
struct AdamWStep {
  S factor, keep, beta1, beta2, rest1, rest2, rate, root, eps;  // w *= keep; rate = lr / c1; root = 1 / sqrt(c2)

  AdamWStep(const AdamW& op, const double* scalars, const double* h)
      : factor(scalars[step_scalar::kFactor]),
        keep(1 - h[hyper::kLr] * (op.decay ? h[hyper::kWeightDecay] : 0)),
        beta1(op.beta1),
        beta2(op.beta2),
        rest1(1 - op.beta1),
        rest2(1 - op.beta2),
        rate(h[hyper::kLr] / h[hyper::kCorrection1]),
        root(1 / std::sqrt(h[hyper::kCorrection2])),
        eps(op.eps) {}
};

// Where an update reads and writes. copy: may be null. rest: null, or what the copy lacks of the weights, which then
// lie nowhere else.
template <class S, class C>
struct Tensors {
  S* w;
  const S* g;
  S *m, *v;
  C* copy;
  u16* rest = nullptr;

  Tensors from(i64 i) const {
    const auto at = [i](auto* p) { return p ? p + i : p; };
    return {at(w), at(g), at(m), at(v), at(copy), at(rest)};
  }
};

// Of the first n elements.
template <class S, class C>
void adamw(const AdamWStep<S>& s, const Tensors<S, C>& t, i64 n) {
  S *const w = t.w, *const m = t.m, *const v = t.v;
  const S* const g = t.g;
#pragma omp simd
  for (i64 i = 0; i < n; ++i) {
    const S gi = g[i] * s.factor;
    const S mi = s.beta1 * m[i] + s.rest1 * gi;
    const S vi = s.beta2 * v[i] + s.rest2 * gi * gi;
    const S wi = w[i] * s.keep - s.rate * mi / (std::sqrt(vi) * s.root + s.eps);
    m[i] = mi, v[i] = vi, w[i] = wi;
  }
}

inline void put_near(float x, bf16& copy) { copy = near_of(x); }
template <class S, class C>
void put_near(S x, C& copy) {
  copy = C(x);
}

constexpr i64 kNear = kBlock / 4;  // elements that the nearest cache holds of all tensors

// update(tensors, n) on pieces of [begin, end), and the copy of what it wrote while that is in the nearest cache.
template <class S, class C, class F>
void for_blocks(const Tensors<S, C>& all, i64 begin, i64 end, F&& update) {
  S joined[kNear];
  for (i64 i = begin; i < end; i += kNear) {
    const i64 n = std::min(end - i, kNear);
    Tensors<S, C> t = all.from(i);
    if constexpr (std::is_same_v<C, bf16> && std::is_same_v<S, float>)
      if (t.rest) {
        t.w = joined;
        for (i64 k = 0; k < n; ++k) joined[k] = join_float(t.copy[k], t.rest[k]);
      }
    update(t, n);
    for (i64 k = 0; t.copy && k < n; ++k) put_near(t.w[k], t.copy[k]);
    if constexpr (std::is_same_v<S, float>)
      for (i64 k = 0; t.rest && k < n; ++k) t.rest[k] = rest_of(t.w[k]);
  }
}

template <class S>
struct SgdStep {
  S factor, decay, momentum, rate;
};

template <class S, class C>
void sgd(const SgdStep<S>& s, const Tensors<S, C>& t, i64 n) {
  S *const w = t.w, *const m = t.m;
  const S* const g = t.g;
#pragma omp simd
  for (i64 i = 0; i < n; ++i) {
    const S mi = s.momentum * m[i] + (g[i] * s.factor + s.decay * w[i]);
    const S wi = w[i] - s.rate * mi;
    m[i] = mi, w[i] = wi;
  }
}

// Elements first .. first + n of a gradient, of which rows without a mark are zero; they go to `held`.
template <class S>
const S* marked(const S* g, const u8* marks, i64 width, i64 first, i64 n, S* held) {
  for_rows(first, first + n, width, [&](i64 row, i64 i, i64 some) {
    if (marks[row])
      std::copy_n(g + i, some, held + i - first);
    else
      std::fill_n(held + i - first, some, S(0));
  });
  return held;
}

bool is_split(const Site& site) { return site.ins[0].dtype == DType::u16; }

// Calls f.operator()<S, C>() with the types of the state and of the copy (S if there is none).
template <class F>
Kernel with_types(const Site& site, int copy, F&& f) {
  const DType state = site.ins[1].dtype;
  check(site.ins[2].dtype == state && (is_split(site) || site.ins[0].dtype == state),
        "an update's parameter, gradient and state must be of one type");
  check(!is_split(site) || (state == DType::f32 && copy >= 0 && site.ins[copy].dtype == DType::bf16),
        "weights are split into bf16 and the rest of f32");
  check(state != DType::bf16, "a parameter's state must be f32 or f64");
  auto with = [&]<class S>() {
    return dispatch_float(copy < 0 ? state : site.ins[copy].dtype,
                          [&]<class C>() { return f.template operator()<S, C>(); });
  };
  return state == DType::f64 ? with.template operator()<double>() : with.template operator()<float>();
}

}  // namespace

Kernel prepare(const AdamW& op, const Site& site) {
  return with_types(site, op.copy ? 6 : -1, [&]<class S, class C>() -> Kernel {
    const i64 n = count(site.in_shape(0)), width = op.marks ? n / std::max<i64>(1, site.in_shape(0)[0]) : 0;
    return {0, [op, split = is_split(site), n, width](const Args& a) {
              const double* scalars = a.in<double>(4);
              if (scalars[step_scalar::kCounts] == 0) return;
              const u8* marks = op.marks ? a.in<u8>(op.copy ? 7 : 6) : nullptr;
              const AdamWStep<S> step(op, scalars, a.in<double>(5));
              const Tensors<S, C> t{
                  split ? nullptr : a.out<S>(0),  a.in<S>(1), a.out<S>(1), a.out<S>(2), op.copy ? a.out<C>(3) : nullptr,
                  split ? a.out<u16>(0) : nullptr};
              parallel_blocks(n, [&](i64 begin, i64 end) {
                for_blocks(t, begin, end, [&](Tensors<S, C> some, i64 k) {
                  S held[kNear];
                  if (marks) some.g = marked(t.g, marks, width, some.g - t.g, k, held);
                  adamw(step, some, k);
                });
              });
            }};
  });
}

Kernel prepare(const Sgd& op, const Site& site) {
  return with_types(site, op.copy ? 5 : -1, [&]<class S, class C>() -> Kernel {
    return {0, [op, split = is_split(site), n = count(site.in_shape(0))](const Args& a) {
              const double *scalars = a.in<double>(3), *h = a.in<double>(4);
              if (scalars[step_scalar::kCounts] == 0) return;
              const SgdStep<S> step{S(scalars[step_scalar::kFactor]), S(op.decay ? h[hyper::kWeightDecay] : 0),
                                    S(op.momentum), S(h[hyper::kLr])};
              const Tensors<S, C> t{
                  split ? nullptr : a.out<S>(0),  a.in<S>(1), a.out<S>(1), nullptr, op.copy ? a.out<C>(2) : nullptr,
                  split ? a.out<u16>(0) : nullptr};
              parallel_blocks(n, [&](i64 begin, i64 end) {
                for_blocks(t, begin, end, [&](const Tensors<S, C>& some, i64 k) { sgd(step, some, k); });
              });
            }};
  });
}

}  // namespace megalith::cpu
