// Dropout keeps an element if unit(hash) >= p. The hash mixes the seed, the row's sample number, and the other global
// indices in the order of the dims. The dims before the last are mixed once for a run of the last dim.
#include <array>
#include <cmath>

#include "base/rng.h"
#include "base/threads.h"
#include "exec/cpu/kernel.h"

namespace megalith::cpu {
namespace {

constexpr size_t kMaxDims = 8;

struct DropPlan {
  u64 seed, below;                      // dropped if hash >> 11 is below it
  double keep;                          // 1 / (1 - p)
  int batch;                            // the dim that the sample number replaces
  std::vector<std::vector<i64>> index;  // global indices by dim
  i64 outer, inner;                     // product of all dims but the last; size of the last
};

// The hash of all dims but the last.
u64 prefix(const DropPlan& p, const i64* rows, i64 outer) {
  const int last = int(p.index.size()) - 1;
  std::array<i64, kMaxDims> at{};
  for (int d = last - 1; d >= 0; --d) {
    at[d] = outer % i64(p.index[d].size());
    outer /= i64(p.index[d].size());
  }
  u64 h = mix(p.seed, u64(rows[at[p.batch]]));
  for (int d = 0; d < last; ++d)
    if (d != p.batch) h = mix(h, u64(p.index[d][at[d]]));
  return h;
}

template <class T>
void drop_run(const DropPlan& p, u64 h, const T* x, T* y) {
  using A = accum_t<T>;
  const i64* index = p.index.back().data();
  const A keep = A(p.keep);
  for (i64 i = 0; i < p.inner; ++i) {
    const A kept = A(x[i]) * keep;
    y[i] = (mix(h, u64(index[i])) >> 11) < p.below ? T(0) : T(kept);
  }
}

template <class T>
Kernel dropout(const DropPlan& plan) {
  return {0, [plan](const Args& a) {
            const i64 grain = std::max<i64>(1, 4096 / std::max<i64>(1, plan.inner));
            parallel_for(plan.outer, grain, [&](i64 row) {
              const i64 at = row * plan.inner;
              drop_run(plan, prefix(plan, a.in<i64>(1), row), a.in<T>(0) + at, a.out<T>(0) + at);
            });
          }};
}

}  // namespace

Kernel prepare(const Dropout& op, const KernelContext& context) {
  const auto [ins, outs] = split_spec(op.spec);
  const size_t batch = ins[0].find(ins[1]);
  check(ins[1].size() == 1 && batch + 1 < ins[0].size(), "[dropout] spec {}: want the batch letter before the last",
        op.spec);
  check(ins[0].size() <= kMaxDims, "[dropout] spec {}: want at most {} dims", op.spec, kMaxDims);
  DropPlan p{op.seed, u64(std::ceil(op.p * 0x1p53)), 1 / (1 - op.p), int(batch), {}, 1, 1};
  for (int d = 0; d < int(ins[0].size()); ++d) p.index.push_back(context.in_indices(0, d));
  for (size_t d = 0; d + 1 < p.index.size(); ++d) p.outer *= i64(p.index[d].size());
  p.inner = i64(p.index.back().size());
  return dispatch_float(context.ins[0].dtype, [&]<class T>() { return dropout<T>(p); });
}

}  // namespace megalith::cpu
