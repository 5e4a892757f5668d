// Kernels of ExpertRows and ExpertParts. ExpertRows counts tokens by expert, then assigns rows to each token.
#include "exec/cpu/kernel.h"

namespace megalith::cpu {

// cuts[i + 1] is the first token whose rows do not fit in the part that begins at token cuts[i].
Kernel prepare(const ExpertParts& op, const KernelContext& context) {
  const Shape choice = context.in_shape(0);
  const i64 tokens = choice[0] * choice[1], k = choice[2], each = op.experts / context.outs[0].shape[1];
  const i64 first =
      each * index_runs(context.mesh, context.outs[0].shape, context.outs[0].layout, context.coord, 1).at(0).start;
  return {0, [=, rows = op.rows, parts = op.parts](const Args& a) {
            const i32* of = a.in<i32>(0);
            i32* cuts = a.out<i32>(0);
            i64 t = 0;
            cuts[0] = 0;
            for (i64 part = 1; part <= parts; ++part) {
              for (i64 filled = 0; t < tokens; ++t) {
                filled +=
                    std::count_if(of + t * k, of + (t + 1) * k, [&](i32 e) { return e >= first && e < first + each; });
                if (filled > rows) break;
              }
              cuts[part] = i32(t);
            }
          }};
}

Kernel prepare(const ExpertRows& op, const KernelContext& context) {
  const Shape choice = context.in_shape(0);
  const i64 tokens = choice[0] * choice[1], k = choice[2];
  const std::vector<Run> experts =
      index_runs(context.mesh, context.outs[0].shape, context.outs[0].layout, context.coord, 1);  // this rank's
  check(experts.size() == 1, "[expert_rows] a rank's experts must be one block");
  const i64 first = experts[0].start, n = experts[0].length;
  return {n * i64(sizeof(i32)), [=](const Args& a) {
            const i64 from = op.rows ? a.in<i32>(1)[op.part] * k : 0;
            const i64 to = op.rows ? a.in<i32>(1)[op.part + 1] * k : tokens * k;
            const i32* of = a.in<i32>(0);
            i32 *ends = a.out<i32>(0), *source = a.out<i32>(1), *slots = a.out<i32>(2);
            i32* next = reinterpret_cast<i32*>(a.workspace);
            std::fill(ends, ends + n, 0);
            const auto is_here = [&](i64 i) { return of[i] >= first && of[i] < first + n; };
            for (i64 i = from; i < to; ++i)
              if (is_here(i)) ++ends[of[i] - first];
            for (i64 e = 1; e < n; ++e) ends[e] += ends[e - 1];
            for (i64 e = 0; e < n; ++e) next[e] = e ? ends[e - 1] : 0;
            std::fill(slots, slots + from, -1);
            std::fill(slots + to, slots + tokens * k, -1);
            for (i64 i = from; i < to; ++i) {
              slots[i] = is_here(i) ? next[of[i] - first]++ : -1;
              if (slots[i] >= 0) source[slots[i]] = i32(i / k);
            }
          }};
}

}  // namespace megalith::cpu
