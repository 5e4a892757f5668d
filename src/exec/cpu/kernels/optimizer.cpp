// Kernels of Update: one pass over a parameter and its state, bound by memory bandwidth. bf16 data is converted,
// updated in f32 and rounded chunk by chunk.
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

constexpr i64 kNear = kBlock / 4;  // elements of each tensor that fit in the L1 cache together

// A tensor in memory, of type S or bf16.
template <class S>
struct Stored {
  void* at = nullptr;
  bool narrow = false;

  // Copies elements [i, i + n) as S.
  void copy_to(i64 i, i64 n, S* to) const {
    if (narrow)
      map(n, kSame, to, static_cast<const bf16*>(at) + i);
    else
      std::copy_n(static_cast<const S*>(at) + i, n, to);
  }
  // Returns elements [i, i + n): in place if they have type S, else converted in `held`.
  S* seen(i64 i, i64 n, S* held) const {
    if (!narrow) return static_cast<S*>(at) + i;
    copy_to(i, n, held);
    return held;
  }
  // Writes the elements of seen() back. bf16 is rounded to nearest even.
  void keep(i64 i, i64 n, const S* held) const {
    if (narrow) map(n, kSame, static_cast<bf16*>(at) + i, held);
  }
};

// Memory of an update. copy: may be null. low_half: the low bits of f32 weights whose high bits are `copy`. w is then
// null. marks: for each row of `width` elements, whether the gradient is read. Other rows' gradients are zero. null:
// all rows are read.
template <class S, class C>
struct Tensors {
  S* w;
  Stored<S> g;
  std::array<Stored<S>, kMostStates> states;
  C* copy = nullptr;
  u16* low_half = nullptr;
  const u8* marks = nullptr;
  i64 width = 0;
};

template <class S>
struct Piece {
  S* w;
  const S* g;
  std::array<S*, kMostStates> states;
};

template <int kStates, class Step, class S>
void update(const Step& step, const Piece<S>& p, i64 n) {
  S* const w = p.w;
  const S* const g = p.g;
  S *const m = p.states[0], *const v = p.states[1];
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

inline void put_bf16_half(float x, bf16& copy) { copy = bf16_half_of(x); }
template <class S, class C>
void put_bf16_half(S x, C& copy) {
  copy = C(x);
}

template <class S, class C>
const S* gradient_of(const Tensors<S, C>& t, i64 first, i64 n, S* held) {
  if (!t.marks) return t.g.seen(first, n, held);
  for_rows(first, first + n, t.width, [&](i64 row, i64 i, i64 some) {
    if (t.marks[row])
      t.g.copy_to(i, some, held + i - first);
    else
      std::fill_n(held + i - first, some, S(0));
  });
  return held;
}

template <class S, class C>
S* weights_of(const Tensors<S, C>& t, i64 first, i64 n, S* held) {
  if constexpr (std::is_same_v<C, bf16> && std::is_same_v<S, float>)
    if (t.low_half) {
      for (i64 k = 0; k < n; ++k) held[k] = join_float(t.copy[first + k], t.low_half[first + k]);
      return held;
    }
  return t.w + first;
}

// Updates elements [i, i + n), n <= kNear. Writes the copy while they are in the L1 cache.
template <int kStates, class Step, class S, class C>
void update_piece(const Step& step, const Tensors<S, C>& t, i64 i, i64 n) {
  S w[kNear], g[kNear], states[kMostStates][kNear];
  Piece<S> p{weights_of(t, i, n, w), gradient_of(t, i, n, g), {}};
  for (size_t k = 0; k < kStates; ++k) p.states[k] = t.states[k].seen(i, n, states[k]);
  update<kStates>(step, p, n);
  for (size_t k = 0; k < kStates; ++k) t.states[k].keep(i, n, p.states[k]);
  for (i64 k = 0; t.copy && k < n; ++k) put_bf16_half(p.w[k], t.copy[i + k]);
  if constexpr (std::is_same_v<S, float>)
    for (i64 k = 0; t.low_half && k < n; ++k) t.low_half[i + k] = low_half_of(p.w[k]);
}

bool is_split(const KernelContext& context) { return context.ins[0].dtype == DType::u16; }

bool is_narrow(const KernelContext& context, int in) { return context.ins[size_t(in)].dtype == DType::bf16; }

// Calls f.operator()<S, C>() with the types of the arithmetic and of the copy (S if there is none).
template <class F>
Kernel with_types(const Update& op, const KernelContext& context, F&& f) {
  bool wide = false;  // f64, for all tensors but the copy
  for (int i = is_split(context) ? 1 : 0; i < op.scalars_at(); ++i) wide |= context.ins[size_t(i)].dtype == DType::f64;
  check(is_split(context) || (context.ins[0].dtype == DType::f64) == wide, "an update's weights are {}: want {}",
        name_of(context.ins[0].dtype), wide ? "f64" : "f32");
  for (int i = 1; i < op.scalars_at(); ++i) {
    const DType t = context.ins[size_t(i)].dtype;
    check(wide ? t == DType::f64 : t == DType::f32 || t == DType::bf16,
          "input {} of an update is {}: want f32 and bf16, or only f64", i, name_of(t));
  }
  const DType copy = op.copy ? context.ins[size_t(op.copy_at())].dtype : DType::f32;
  check(!is_split(context) || (!wide && op.copy && copy == DType::bf16),
        "weights are split into bf16 and the rest of f32");
  auto with = [&]<class S>() {
    return dispatch_float(op.copy ? copy : dtype_of<S>::value,
                          [&]<class C>() { return f.template operator()<S, C>(); });
  };
  return wide ? with.template operator()<double>() : with.template operator()<float>();
}

// The kernel of an update rule.
template <class Rule, class S, class C>
Kernel kernel_of(const Rule& rule, const Update& op, const KernelContext& context) {
  static_assert(Rule::kStates <= kMostStates);
  using Step = typename Rule::template Step<Arithmetic<S>>;
  const i64 n = count(context.in_shape(0)), width = op.marks ? n / std::max<i64>(1, context.in_shape(0)[0]) : 0;
  Tensors<S, C> types{.w = nullptr, .g = {nullptr, is_narrow(context, 1)}, .states = {}};
  for (int k = 0; k < Rule::kStates; ++k) types.states[size_t(k)].narrow = is_narrow(context, 2 + k);
  types.width = width;
  return {0, [rule, op, split = is_split(context), n, types](const Args& a) {
            const double *scalars = a.in<double>(op.scalars_at()), *h = a.in<double>(op.step_scalars_in_at());
            if (scalars[step_scalar::kCounts] == 0) return;
            const Step step(rule, {scalars[step_scalar::kFactor], h[step_scalars_in::kLr],
                                   op.decay ? h[step_scalars_in::kWeightDecay] : 0, h + step_scalars_in::kOwn});
            Tensors<S, C> t = types;
            t.w = split ? nullptr : a.out<S>(0), t.g.at = a.ins[1];
            if (split) t.low_half = a.out<u16>(0);
            for (int k = 0; k < Rule::kStates; ++k) t.states[size_t(k)].at = a.outs[size_t(1 + k)];
            if (op.copy) t.copy = a.out<C>(1 + Rule::kStates);
            if (op.marks) t.marks = a.in<u8>(op.marks_at());
            parallel_blocks(n, [&](i64 begin, i64 end) {
              for (i64 i = begin; i < end; i += kNear)
                update_piece<Rule::kStates>(step, t, i, std::min(end - i, kNear));
            });
          }};
}

}  // namespace

Kernel prepare(const Update& op, const KernelContext& context) {
  return with_types(op, context, [&]<class S, class C>() -> Kernel {
    return std::visit(
        [&](const auto& rule) { return kernel_of<std::decay_t<decltype(rule)>, S, C>(rule, op, context); }, op.rule);
  });
}

}  // namespace megalith::cpu
