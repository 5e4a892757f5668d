// An amax over ranks, exchanged only while the tensor has no scale.
#include "exec/cuda/comms.h"
#include "exec/cuda/kernel.h"

namespace megalith::cuda {

// All ranks have the same state, so they exchange together or not at all.
Kernel prepare(const SharedAmax& op, const KernelContext& context) {
  const auto group = communicator_group_of(op.move, context.mesh, context.coord);
  Comm* const comm = context.comms && group ? &context.comms->at(*group) : nullptr;
  const i64 n = count(context.in_shape(0));
  return {0, [=, at = op.at](const Args& a) {
            check(comm != nullptr, "an amax of several ranks on a single one");
            comm->all_reduce_max_unless(a.in<float>(1) + at, a.ins[0], a.outs[0], n, a.stream);
          }};
}

}  // namespace megalith::cuda
