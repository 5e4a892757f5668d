// An amax over ranks, exchanged only while the tensor has no scale.
#include <cstring>

#include "exec/cpu/kernel.h"

namespace megalith::cpu {

// All ranks have the same state, so they exchange together or not at all.
Kernel prepare(const SharedAmax& op, const KernelContext& context) {
  KernelContext own = context;
  own.ins.resize(1);
  const Kernel move = prepare(op.move, own);
  const i64 bytes = count(context.in_shape(0)) * i64(sizeof(float));
  return {move.workspace, [move, bytes, at = op.at](const Args& a) {
            if (a.in<float>(1)[at] == 0)
              move.run({a.ins.first(1), a.outs, a.workspace, a.first_micro_batch});
            else if (a.ins[0] != a.outs[0])
              std::memcpy(a.outs[0], a.ins[0], size_t(bytes));
          }};
}

}  // namespace megalith::cpu
