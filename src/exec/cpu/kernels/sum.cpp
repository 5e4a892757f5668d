// Kernels of Sum and Broadcast.
//
// The method of Sum depends on the innermost loop of x. If the result keeps this loop ("sbh->h"), Sum adds row by row
// to kColumns columns at a time. It sums kRowsInF32 rows in f32, then adds them to f64 sums. If not ("sbh->sb"), it
// sums runs of x in f64.
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

namespace {

enum { kX = 0, kY = 1 };
constexpr i64 kColumns = 256, kRowsInF32 = 64;

struct SumLoops {
  std::vector<Loop> kept, summed;
  bool columns = false;  // kept.back() is x's innermost loop
};

SumLoops sum_loops(const Lettered& x, const Lettered& y) {
  SumLoops s;
  for (const Loop& l : make_loops({x, y})) (l.stride[kY] ? s.kept : s.summed).push_back(l);
  for (size_t i = 0; i + 1 < s.kept.size(); ++i)
    if (s.kept[i].stride[kX] == 1) std::swap(s.kept[i], s.kept.back());
  s.columns = !s.kept.empty() && s.kept.back().stride[kX] == 1;
  for (size_t i = 0; i + 1 < s.summed.size(); ++i)
    if (s.summed[i].stride[kX] == 1) std::swap(s.summed[i], s.summed.back());
  return s;
}

// y[c * step] = the sum over `rows` of x[c], for c < n <= kColumns.
template <class X, class Y>
void sum_columns(const X* x, const std::vector<Loop>& rows, i64 n, Y* y, i64 step) {
  double total[kColumns] = {};
  const i64 count = size_of(rows);
  for (i64 r0 = 0; r0 < count; r0 += kRowsInF32) {
    accum_t<X> part[kColumns] = {};
    for (i64 r = r0; r < std::min(count, r0 + kRowsInF32); ++r) {
      const X* row = x + offsets(rows, r)[kX];
      map(n, kPlus, part, part, row);
    }
    for (i64 c = 0; c < n; ++c) total[c] += double(part[c]);
  }
  for (i64 c = 0; c < n; ++c) y[c * step] = Y(total[c]);
}

template <class X>
double sum_run(const X* x, i64 n, i64 step) {
  if (step == 1) return sum_of(x, n);
  double total = 0;
  for (i64 i = 0; i < n; ++i) total += double(x[i * step]);
  return total;
}

template <class X, class Y>
Kernel by_columns(const SumLoops& s) {
  const Loop inner = s.kept.back();
  const std::vector<Loop> outer(s.kept.begin(), s.kept.end() - 1);
  return {0, [=](const Args& a) {
            const i64 pieces = (inner.n + kColumns - 1) / kColumns;
            parallel_for(size_of(outer) * pieces, 1, [&](i64 task) {
              const auto at = offsets(outer, task / pieces);
              const i64 c = task % pieces * kColumns;
              sum_columns(a.in<X>(0) + at[kX] + c, s.summed, std::min(kColumns, inner.n - c),
                          a.out<Y>(0) + at[kY] + c * inner.stride[kY], inner.stride[kY]);
            });
          }};
}

// Each result is the sum of runs.
template <class X, class Y>
Kernel by_runs(const SumLoops& s) {
  const Loop run = s.summed.empty() ? Loop{} : s.summed.back();
  const std::vector<Loop> outer(s.summed.begin(), s.summed.empty() ? s.summed.end() : s.summed.end() - 1);
  return {0, [=](const Args& a) {
            parallel_for(size_of(s.kept), 1, [&](i64 i) {
              const auto at = offsets(s.kept, i);
              double total = 0;
              for (i64 r = 0; r < size_of(outer); ++r)
                total += sum_run(a.in<X>(0) + at[kX] + offsets(outer, r)[kX], run.n, run.stride[kX]);
              a.out<Y>(0)[at[kY]] = Y(total);
            });
          }};
}

// One result, of a dense x. All threads take part.
template <class X, class Y>
Kernel of_everything(i64 n) {
  return {sum_parts(n) * i64(sizeof(double)), [n](const Args& a) {
            a.out<Y>(0)[0] = Y(sum_in_parts(n, reinterpret_cast<double*>(a.workspace), [&](i64 begin, i64 end) {
              return sum_of(a.in<X>(0) + begin, end - begin);
            }));
          }};
}

template <class X, class Y>
Kernel make_broadcast(const std::vector<Loop>& loops) {
  return {0, [loops](const Args& a) {
            const i64 step = loops.empty() ? 0 : loops.back().stride[kX];
            parallel_rows(loops, [&](const auto& at, i64 n) {
              const X* x = a.in<X>(0) + at[kX];
              Y* y = a.out<Y>(0) + at[kY];
              if (step == 1) {
                map(n, kSame, y, x);
              } else {
                for (i64 i = 0; i < n; ++i) y[i] = Y(x[i * step]);
              }
            });
          }};
}

}  // namespace

Kernel prepare(const Sum& op, const KernelContext& context) {
  const auto [ins, outs] = split_spec(op.spec);
  const SumLoops s = sum_loops({ins[0], context.in_shape(0)}, {outs[0], context.out_shape(0)});
  return dispatch_float(context.ins[0].dtype, [&]<class X>() {
    return dispatch_float(context.outs[0].dtype, [&]<class Y>() {
      if (s.columns) return by_columns<X, Y>(s);
      if (s.kept.empty() && s.summed.size() == 1 && s.summed[0].stride[kX] == 1)
        return of_everything<X, Y>(s.summed[0].n);
      return by_runs<X, Y>(s);
    });
  });
}

Kernel prepare(const Broadcast& op, const KernelContext& context) {
  const auto [ins, outs] = split_spec(op.spec);
  const auto loops = make_loops({{ins[0], context.in_shape(0)}, {outs[0], context.out_shape(0)}});
  return dispatch_float(context.ins[0].dtype, [&]<class X>() {
    return dispatch_float(context.outs[0].dtype, [&]<class Y>() { return make_broadcast<X, Y>(loops); });
  });
}

}  // namespace megalith::cpu
