// Kernels of Update: one pass over a parameter and its state, bound by memory.
#include <array>
#include <cmath>

#include "base/split_float.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

namespace {

constexpr int kMostStates = 2;

template <class S>
struct Arithmetic {
  using Number = S;
  static S fma(S a, S b, S c) { return a * b + c; }
  static S products(S a, S b, S c, S d) { return a * b + c * d; }
  static S over(S a, S b) { return a / b; }
  static S root(S x) { return std::sqrt(x); }
};

// Where an update reads and writes. copy: may be null. rest: null, or what the copy lacks of the weights, which then
// lie nowhere else.
template <class S, class C>
struct Tensors {
  S* w;
  const S* g;
  std::array<S*, kMostStates> states;
  C* copy;
  u16* rest = nullptr;

  Tensors from(i64 i) const {
    const auto at = [i](auto* p) { return p ? p + i : p; };
    Tensors t{at(w), at(g), states, at(copy), at(rest)};
    for (S*& state : t.states) state = at(state);
    return t;
  }
};

// Of the first n elements.
template <int kStates, class Step, class S, class C>
void update(const Step& step, const Tensors<S, C>& t, i64 n) {
  S* const w = t.w;
  const S* const g = t.g;
  S *const m = t.states[0], *const v = t.states[1];
#pragma omp simd
  for (i64 i = 0; i < n; ++i) {
    S weight = w[i], state[kMostStates];
    if constexpr (kStates > 0) state[0] = m[i];
    if constexpr (kStates > 1) state[1] = v[i];
    step(weight, g[i], state);
    if constexpr (kStates > 0) m[i] = state[0];
    if constexpr (kStates > 1) v[i] = state[1];
    w[i] = weight;
  }
}

inline void put_near(float x, bf16& copy) { copy = near_of(x); }
template <class S, class C>
void put_near(S x, C& copy) {
  copy = C(x);
}

constexpr i64 kNear = kBlock / 4;  // elements that the nearest cache holds of all tensors

// f(tensors, n) on pieces of [begin, end), and the copy of what it wrote while that is in the nearest cache.
template <class S, class C, class F>
void for_blocks(const Tensors<S, C>& all, i64 begin, i64 end, F&& f) {
  S joined[kNear];
  for (i64 i = begin; i < end; i += kNear) {
    const i64 n = std::min(end - i, kNear);
    Tensors<S, C> t = all.from(i);
    if constexpr (std::is_same_v<C, bf16> && std::is_same_v<S, float>)
      if (t.rest) {
        t.w = joined;
        for (i64 k = 0; k < n; ++k) joined[k] = join_float(t.copy[k], t.rest[k]);
      }
    f(t, n);
    for (i64 k = 0; t.copy && k < n; ++k) put_near(t.w[k], t.copy[k]);
    if constexpr (std::is_same_v<S, float>)
      for (i64 k = 0; t.rest && k < n; ++k) t.rest[k] = rest_of(t.w[k]);
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
Kernel with_types(const Site& site, int states, int copy, F&& f) {
  const DType state = site.ins[1].dtype;
  check(is_split(site) || site.ins[0].dtype == state, "an update's parameter and gradient must be of one type");
  for (int k = 0; k < states; ++k)
    check(site.ins[size_t(2 + k)].dtype == state, "an update's gradient and state must be of one type");
  check(!is_split(site) || (state == DType::f32 && copy >= 0 && site.ins[copy].dtype == DType::bf16),
        "weights are split into bf16 and the rest of f32");
  check(state != DType::bf16, "a parameter's state must be f32 or f64");
  auto with = [&]<class S>() {
    return dispatch_float(copy < 0 ? state : site.ins[copy].dtype,
                          [&]<class C>() { return f.template operator()<S, C>(); });
  };
  return state == DType::f64 ? with.template operator()<double>() : with.template operator()<float>();
}

// By a rule of the list.
template <class Rule, class S, class C>
Kernel kernel_of(const Rule& rule, const Update& op, const Site& site) {
  static_assert(Rule::kStates <= kMostStates);
  using Step = typename Rule::template Step<Arithmetic<S>>;
  const i64 n = count(site.in_shape(0)), width = op.marks ? n / std::max<i64>(1, site.in_shape(0)[0]) : 0;
  return {0, [rule, op, split = is_split(site), n, width](const Args& a) {
            const double *scalars = a.in<double>(op.scalars_at()), *h = a.in<double>(op.hyper_at());
            if (scalars[step_scalar::kCounts] == 0) return;
            const u8* marks = op.marks ? a.in<u8>(op.marks_at()) : nullptr;
            const Step step(rule, {scalars[step_scalar::kFactor], h[hyper::kLr], op.decay ? h[hyper::kWeightDecay] : 0,
                                   h + hyper::kOwn});
            Tensors<S, C> t{split ? nullptr : a.out<S>(0), a.in<S>(1), {}, nullptr, split ? a.out<u16>(0) : nullptr};
            for (int k = 0; k < Rule::kStates; ++k) t.states[size_t(k)] = a.out<S>(1 + k);
            if (op.copy) t.copy = a.out<C>(1 + Rule::kStates);
            parallel_blocks(n, [&](i64 begin, i64 end) {
              for_blocks(t, begin, end, [&](Tensors<S, C> some, i64 k) {
                S held[kNear];
                if (marks) some.g = marked(t.g, marks, width, some.g - t.g, k, held);
                update<Rule::kStates>(step, some, k);
              });
            });
          }};
}

}  // namespace

Kernel prepare(const Update& op, const Site& site) {
  return with_types(site, op.states(), op.copy ? op.copy_at() : -1, [&]<class S, class C>() -> Kernel {
    return std::visit([&](const auto& rule) { return kernel_of<std::decay_t<decltype(rule)>, S, C>(rule, op, site); },
                      op.rule);
  });
}

}  // namespace megalith::cpu
