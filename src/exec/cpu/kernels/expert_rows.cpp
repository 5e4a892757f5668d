// Kernel of ExpertRows: tokens are counted by expert, then each gets its places.
#include "exec/cpu/kernel.h"

namespace megalith::cpu {

Kernel prepare(const ExpertRows&, const Site& site) {
  const Shape choice = site.in_shape(0);
  const i64 tokens = choice[0] * choice[1], k = choice[2];
  const std::vector<Run> experts =
      index_runs(site.mesh, site.outs[0].shape, site.outs[0].layout, site.coord, 1);  // of this rank
  check(experts.size() == 1, "[expert_rows] a rank's experts must be one block");
  const i64 first = experts[0].start, n = experts[0].length;
  return {n * i64(sizeof(i32)), [=](const Args& a) {
            const i32* of = a.in<i32>(0);
            i32 *ends = a.out<i32>(0), *source = a.out<i32>(1), *slots = a.out<i32>(2);
            i32* next = reinterpret_cast<i32*>(a.workspace);
            std::fill(ends, ends + n, 0);
            const auto is_here = [&](i64 i) { return of[i] >= first && of[i] < first + n; };
            for (i64 i = 0; i < tokens * k; ++i)
              if (is_here(i)) ++ends[of[i] - first];
            for (i64 e = 1; e < n; ++e) ends[e] += ends[e - 1];
            for (i64 e = 0; e < n; ++e) next[e] = e ? ends[e - 1] : 0;
            for (i64 i = 0; i < tokens * k; ++i) {
              slots[i] = is_here(i) ? next[of[i] - first]++ : -1;
              if (slots[i] >= 0) source[slots[i]] = i32(i / k);
            }
          }};
}

}  // namespace megalith::cpu
