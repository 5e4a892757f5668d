// Kernel of GroupedProduct.
#include "exec/cuda/kernels/experts/grouped_product.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const GroupedProduct& op, const Site& site) {
  const DType from = site.ins[0].dtype, to = site.outs[0].dtype;
  check_activation(op.name, from);
  check(site.ins[1].dtype == from, "[grouped_product] of {} and {}: want one type", name_of(from),
        name_of(site.ins[1].dtype));
  check_dtype(op.name, to, {DType::f32, from});
  std::vector<Type> ins;
  for (int i = 0; i < 3; ++i) ins.push_back(local_type(site.mesh, site.ins[size_t(i)]));
  const GroupedShape s = grouped_shape(op, ins);
  const GroupedLaunch l{from, to, s.sums, s.transposed, s.experts, s.bound, s.out, s.in};
  return {0, [l, op](const Args& a) {
            const bool add = op.accumulate && !(a.first_micro_batch && op.starts);
            launch(l, {a.ins[0], a.ins[1], a.in<i32>(2), a.outs[0], add}, a.stream);
          }};
}

}  // namespace megalith::cuda
