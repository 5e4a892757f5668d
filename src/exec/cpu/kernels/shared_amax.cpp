// An amax over ranks, exchanged only while the tensor has no scale.
#include "exec/cpu/kernel.h"

namespace megalith::cpu {

// All ranks have the same state, so they exchange together or not at all.
Kernel prepare(const SharedAmax& op, const KernelContext& context) {
  KernelContext own = context;
  own.ins.resize(1);
  const Kernel move = prepare(op.move, own);
  return {move.workspace, [move, at = op.at](const Args& a) {
            if (a.in<float>(1)[at] == 0) move.run({a.ins.first(1), a.outs, a.workspace, a.first_micro_batch});
          }};
}

}  // namespace megalith::cpu
