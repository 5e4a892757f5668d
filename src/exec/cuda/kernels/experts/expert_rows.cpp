// Kernel of ExpertRows.
#include "exec/cuda/kernels/experts/expert_rows.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/expert_rows_plan.h"

namespace megalith::cuda {

Kernel prepare(const ExpertRows&, const Site& site) {
  const Shape choice = site.in_shape(0);
  const std::vector<Run> experts = index_runs(site.mesh, site.outs[0].shape, site.outs[0].layout, site.coord, 1);
  check(experts.size() == 1, "[expert_rows] a rank's experts must be one block");
  const ExpertRowsLaunch l{count(choice), choice[2], int(experts[0].start), int(experts[0].length)};
  return {expert_rows_workspace(l.choices, l.experts), [l](const Args& a) {
            launch(l, {a.in<i32>(0), a.out<i32>(0), a.out<i32>(1), a.out<i32>(2), reinterpret_cast<i32*>(a.workspace)},
                   a.stream);
          }};
}

}  // namespace megalith::cuda
