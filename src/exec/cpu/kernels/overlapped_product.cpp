// Runs the two ops one after the other.
#include "ops/overlapped_product.h"

#include "exec/cpu/kernel.h"

namespace megalith::cpu {

Kernel prepare(const OverlappedProduct& op, const KernelContext& context) {
  OverlappedProduct in_line = op;
  in_line.move.lane = 0;
  std::vector<Kernel> kernels;
  for (const OpPart<Type>& part : parts_of<Type>(in_line, context.ins, context.outs)) {
    KernelContext own = context;
    own.ins = part.ins, own.outs = part.outs;
    kernels.push_back(prepare_any(part.op, own));
  }
  return {std::max(kernels[0].workspace, kernels[1].workspace), [in_line, kernels](const Args& a) {
            const auto parts = parts_of<std::byte*>(in_line, a.ins, a.outs);
            for (size_t k = 0; k < parts.size(); ++k)
              kernels[k].run({parts[k].ins, parts[k].outs, a.workspace, a.first_micro_batch});
          }};
}

}  // namespace megalith::cpu
