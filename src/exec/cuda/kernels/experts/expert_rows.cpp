// Kernels of ExpertRows and ExpertParts.
#include "exec/cuda/kernels/experts/expert_rows.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/expert_rows_plan.h"

namespace megalith::cuda {

Kernel prepare(const ExpertParts& op, const KernelContext& context) {
  const Shape choice = context.in_shape(0);
  const Type& cuts = context.outs[0];
  const i64 each = op.experts / cuts.shape[1];
  const i64 rank = index_runs(context.mesh, cuts.shape, cuts.layout, context.coord, 1).at(0).start;
  const ExpertPartsLaunch l{choice[0] * choice[1], choice[2], int(each * rank), int(each), op.rows, op.parts};
  return {expert_parts_workspace(l.tokens), [l](const Args& a) {
            launch(l, {a.in<i32>(0), a.out<i32>(0), reinterpret_cast<i32*>(a.workspace)}, a.stream);
          }};
}

Kernel prepare(const ExpertRows& op, const KernelContext& context) {
  const Shape choice = context.in_shape(0);
  const std::vector<Run> experts =
      index_runs(context.mesh, context.outs[0].shape, context.outs[0].layout, context.coord, 1);
  check(experts.size() == 1, "[expert_rows] a rank's experts must be one block");
  const ExpertRowsLaunch l{count(choice), choice[2], int(experts[0].start), int(experts[0].length)};
  return {expert_rows_workspace(l.choices, l.experts), [l, op](const Args& a) {
            const i32* part = op.rows ? a.in<i32>(1) + op.part : nullptr;
            i32* counts = reinterpret_cast<i32*>(a.workspace);
            launch(l, {a.in<i32>(0), part, a.out<i32>(0), a.out<i32>(1), a.out<i32>(2), counts}, a.stream);
          }};
}

}  // namespace megalith::cuda
