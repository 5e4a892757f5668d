// Kernels of ExpertBias and its gradients.
#include <algorithm>

#include "base/threads.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/vector.h"

namespace megalith::cpu {

namespace {

struct ExpertBiasShape {
  i64 experts = 0, width = 1;  // elements of a row
};

ExpertBiasShape shape_of(const KernelContext& context, int rows, int ends) {
  const Shape r = context.in_shape(rows);
  ExpertBiasShape s{context.in_shape(ends)[1]};
  for (size_t d = 1; d < r.size(); ++d) s.width *= r[d];
  return s;
}

// Calls f(expert, row) for each row.
template <class F>
void each_row(const i32* ends, i64 experts, F&& f) {
  parallel_for(ends[experts - 1], 4, [&](i64 row) { f(std::upper_bound(ends, ends + experts, i32(row)) - ends, row); });
}

template <class T>
Kernel add_bias(const ExpertBiasShape& s, bool weighted) {
  using A = accum_t<T>;
  return {0, [=](const Args& a) {
            each_row(a.in<i32>(2), s.experts, [&](i64 e, i64 row) {
              const T *x = a.in<T>(0) + row * s.width, *bias = a.in<T>(1) + e * s.width;
              T* y = a.out<T>(0) + row * s.width;
              const A w = weighted ? a.in<A>(3)[row] : A(1);
              each_vector<A>(0, s.width, [&](i64 i, auto part) {
                store(y + i, load(x + i, part) + load(bias + i, part) * w, part);
              });
            });
          }};
}

// A thread sums the rows of an expert in order, for some of the columns.
template <class T, class Y>
Kernel sum_rows(const ExpertBiasShape& s, bool weighted) {
  using A = std::common_type_t<accum_t<T>, accum_t<Y>>;
  constexpr i64 kColumns = 64;
  const i64 blocks = (s.width + kColumns - 1) / kColumns;
  return {0, [=](const Args& a) {
            const i32* ends = a.in<i32>(1);
            const accum_t<T>* weights = weighted ? a.in<accum_t<T>>(2) : nullptr;
            parallel_for(s.experts * blocks, 1, [&](i64 k) {
              const i64 e = k / blocks, first = k % blocks * kColumns, n = std::min(kColumns, s.width - first);
              A sum[kColumns] = {};
              for (i64 row = e ? ends[e - 1] : 0; row < ends[e]; ++row) {
                const T* x = a.in<T>(0) + row * s.width + first;
                const A w = weights ? A(weights[row]) : A(1);
                for (i64 i = 0; i < n; ++i) sum[i] += A(x[i]) * w;
              }
              for (i64 i = 0; i < n; ++i) a.out<Y>(0)[e * s.width + first + i] = Y(sum[i]);
            });
          }};
}

template <class T>
Kernel dot_bias(const ExpertBiasShape& s) {
  using A = accum_t<T>;
  return {0, [=](const Args& a) {
            each_row(a.in<i32>(2), s.experts, [&](i64 e, i64 row) {
              const T *dy = a.in<T>(0) + row * s.width, *bias = a.in<T>(1) + e * s.width;
              a.out<A>(0)[row] = sum_over<A>(
                  s.width, [&](i64 i, auto part) { return only<A>(load(dy + i, part) * load(bias + i, part), part); });
            });
          }};
}

}  // namespace

Kernel prepare(const ExpertBias& op, const KernelContext& context) {
  const ExpertBiasShape s = shape_of(context, 0, 2);
  return dispatch_float(context.ins[0].dtype, [&]<class T>() { return add_bias<T>(s, op.weighted); });
}

Kernel prepare(const SumExpertRows& op, const KernelContext& context) {
  const ExpertBiasShape s = shape_of(context, 0, 1);
  return dispatch_float(context.ins[0].dtype, [&]<class T>() {
    return dispatch_float(context.outs[0].dtype, [&]<class Y>() { return sum_rows<T, Y>(s, op.weighted); });
  });
}

Kernel prepare(const DotExpertBias&, const KernelContext& context) {
  const ExpertBiasShape s = shape_of(context, 0, 2);
  return dispatch_float(context.ins[0].dtype, [&]<class T>() { return dot_bias<T>(s); });
}

}  // namespace megalith::cpu
