// Kernels of GatherRows, CombineRows and of the rows' weights. Inputs: a value, ends, source, slots.
#include <cstring>

#include "base/threads.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/vector.h"

namespace megalith::cpu {

namespace {

constexpr int kEnds = 1, kSource = 2, kSlots = 3;

// The number of rows.
i64 rows_of(const Args& a, i64 experts) { return a.in<i32>(kEnds)[experts - 1]; }

// y of a token: the sum of its rows, and of `plus` if it is not null.
template <class T>
struct TokenSum {
  const T* rows;
  i64 h, k;

  void operator()(const i32* slots, const T* plus, T* y) const {
    using A = accum_t<T>;
    if (plus == y && std::all_of(slots, slots + k, [](i32 slot) { return slot < 0; })) return;
    each_vector<A>(0, h, [&](i64 i, auto part) {
      Vec<A> sum = {};
      if (plus) sum = load(plus + i, part);
      for (i64 j = 0; j < k; ++j)
        if (slots[j] >= 0) sum += load(rows + slots[j] * h + i, part);
      store(y + i, sum, part);
    });
  }
};

}  // namespace

Kernel prepare(const GatherRows&, const KernelContext& context) {
  const i64 experts = context.in_shape(kEnds)[1], bytes = context.in_shape(0)[2] * size_of(context.ins[0].dtype);
  return {0, [=](const Args& a) {
            const i32* source = a.in<i32>(kSource);
            parallel_for(rows_of(a, experts), 4, [&](i64 r) {
              std::memcpy(a.outs[0] + r * bytes, a.ins[0] + source[r] * bytes, size_t(bytes));
            });
          }};
}

Kernel prepare(const CombineRows& op, const KernelContext& context) {
  const Shape y = context.out_shape(0);
  const i64 tokens = y[0] * y[1], h = y[2], k = context.in_shape(kSlots)[3];
  return dispatch_float(context.ins[0].dtype, [&]<class T>() -> Kernel {
    return {0, [=, adds = op.adds](const Args& a) {
              const TokenSum<T> sum{a.in<T>(0), h, k};
              parallel_for(tokens, 4, [&](i64 t) {
                sum(a.in<i32>(kSlots) + t * k, adds ? a.in<T>(4) + t * h : nullptr, a.out<T>(0) + t * h);
              });
            }};
  });
}

Kernel prepare(const GatherWeights&, const KernelContext& context) {
  const i64 n = count(context.in_shape(0));
  return dispatch_float(context.ins[0].dtype, [&]<class T>() -> Kernel {
    return {0, [n](const Args& a) {
              const i32* slots = a.in<i32>(kSlots);
              for (i64 i = 0; i < n; ++i)
                if (slots[i] >= 0) a.out<T>(0)[slots[i]] = a.in<T>(0)[i];
            }};
  });
}

Kernel prepare(const GatherWeightsGrad&, const KernelContext& context) {
  const i64 n = count(context.out_shape(0));
  return dispatch_float(context.ins[0].dtype, [&]<class T>() -> Kernel {
    return {0, [n](const Args& a) {
              const i32* slots = a.in<i32>(kSlots);
              for (i64 i = 0; i < n; ++i) a.out<T>(0)[i] = slots[i] >= 0 ? a.in<T>(0)[slots[i]] : T(0);
            }};
  });
}

}  // namespace megalith::cpu
