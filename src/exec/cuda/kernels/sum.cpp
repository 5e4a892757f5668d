// Kernel of Sum, by x's innermost loop. If the result keeps the loop ("sbh->h"), columns are summed row by row. If not
// ("sbh->sb", "sb->"), runs of x are summed.
#include "exec/cuda/kernels/sum.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda/kernels/add.h"
#include "exec/cuda_needs/sum_plan.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const Sum& op, const KernelContext& context) {
  check_number(op.name, context.ins[0].dtype), check_number(op.name, context.outs[0].dtype);
  const SumLoops loops = loops_of(op, context);
  if (loops.summed.empty()) {
    const BroadcastLaunch l{context.ins[0].dtype, context.outs[0].dtype, size_of(loops.kept), table_of(loops.kept)};
    return {0, [l](const Args& a) { launch(l, a.ins[0], a.outs[0], a.stream); }};
  }
  const SumLaunch l = plan_sum(context.ins[0].dtype, context.outs[0].dtype, loops);
  if (fits_hopper(l, context.gpu.capability))
    return {0, [l](const Args& a) { launch_hopper(l, a.ins[0], a.outs[0], a.stream); }};
  return {l.workspace(), [l](const Args& a) { launch(l, a.ins[0], a.outs[0], a.workspace, a.stream); }};
}

}  // namespace megalith::cuda
