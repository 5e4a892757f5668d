#include "exec/cuda/kernels/quantize/delayed_scale.h"

#include <vector>

#include "exec/cuda/kernel.h"

namespace megalith::cuda {

Kernel prepare(const CollectAmax& op, const KernelContext& context) {
  return {0, [places = op.places, n = count(context.in_shape(0))](const Args& a) {
            std::vector<SeenAmax> amaxes;
            for (size_t i = 0; i < places.size(); ++i) amaxes.push_back({a.in<float>(int(i) + 1), places[i]});
            launch_collect_amax(amaxes, a.first_micro_batch, a.out<float>(0), n, a.stream);
          }};
}

Kernel prepare(const CollectCounts& op, const KernelContext& context) {
  std::vector<int> here;  // the inputs that this rank counts
  for (size_t i = 0; i < op.places.size(); ++i)
    if (counts_here(context.mesh, context.coord, context.ins[i + 1])) here.push_back(int(i));
  return {0, [op, here, rows = context.in_shape(0)[0]](const Args& a) {
            std::vector<CountedCast> casts;
            for (const int i : here) casts.push_back({a.in<i64>(i + 1), op.places[size_t(i)], op.elements[size_t(i)]});
            launch_collect_counts(casts, a.first_micro_batch, a.out<double>(0), rows, a.stream);
          }};
}

Kernel prepare(const DelayedScale& op, const KernelContext& context) {
  const DelayedLaunch l{context.in_shape(0)[0] - 1, op.largest, op.margin, op.gradients == CodeFormat::e5m2};
  return {0, [l, n = int(op.layers)](const Args& a) {
            std::vector<float*> states;
            for (int i = 0; i < n; ++i) states.push_back(a.out<float>(i));
            launch(l, states, a.in<float>(n), a.in<double>(n + 1) + step_scalar::kCounts, a.stream);
          }};
}

}  // namespace megalith::cuda
