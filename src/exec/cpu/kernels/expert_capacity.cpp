// Kernels of ExpertCapacity, which loops over the experts, and of its gradient.
#include "base/threads.h"
#include "exec/cpu/kernels/router_row.h"

namespace megalith::cpu {
namespace {

struct CapacityShape {
  i64 entries, experts, capacity;  // entries: tokens times choices
  DropBy by;
};

// The entries of each expert, in token order.
std::vector<std::vector<i64>> by_expert(const CapacityShape& s, const i32* choice) {
  std::vector<std::vector<i64>> out(static_cast<size_t>(s.experts));
  for (i64 i = 0; i < s.entries; ++i)
    if (choice[i] >= 0 && choice[i] < s.experts) out[size_t(choice[i])].push_back(i);
  return out;
}

template <class A>
Kernel expert_capacity(const CapacityShape& s) {
  return {0, [s](const Args& a) {
            const A* p = a.in<A>(0);
            std::copy_n(p, s.entries, a.out<A>(0));
            std::copy_n(a.in<i32>(1), s.entries, a.out<i32>(1));
            std::vector<std::vector<i64>> lists = by_expert(s, a.in<i32>(1));
            parallel_for(s.experts, 1, [&](i64 e) {
              std::vector<i64>& list = lists[size_t(e)];
              if (i64(list.size()) <= s.capacity) return;
              if (s.by == DropBy::weight) std::ranges::stable_sort(list, [&](i64 i, i64 j) { return p[i] > p[j]; });
              for (size_t i = size_t(s.capacity); i < list.size(); ++i)
                a.out<A>(0)[list[i]] = 0, a.out<i32>(1)[list[i]] = -1;
            });
          }};
}

}  // namespace

Kernel prepare(const ExpertCapacity& op, const KernelContext& context) {
  const Shape p = context.in_shape(0);
  const CapacityShape s{count(p), op.experts, op.capacity(p[0] * p[1], p[2]), op.by};
  return for_router(op.name, context.ins[0].dtype, [&]<class A>() { return expert_capacity<A>(s); });
}

Kernel prepare(const ExpertCapacityGrad& op, const KernelContext& context) {
  return for_router(op.name, context.ins[0].dtype, [&]<class A>() -> Kernel {
    return {0, [n = count(context.in_shape(0))](const Args& a) {
              parallel_for(n, 4096, [&](i64 i) { a.out<A>(0)[i] = a.in<i32>(1)[i] < 0 ? A(0) : a.in<A>(0)[i]; });
            }};
  });
}

}  // namespace megalith::cpu
