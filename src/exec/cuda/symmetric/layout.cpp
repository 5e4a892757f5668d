#include "exec/cuda/symmetric/layout.h"

#include "base/rng.h"
#include "ops/overlapped_product.h"

namespace megalith::cuda {

std::string layout_of_transfers(const Plan& plan) {
  std::string text;
  for (const Program& p : plan.programs)
    for (const Instruction& in : p.instructions) {
      if (!relayout_of(in.op)) continue;
      for (const std::vector<int>* buffers : {&in.ins, &in.outs})
        for (const int b : *buffers) text += fmt::format("{} ", p.buffers[size_t(b)].offset);
      text += fmt::format("{};", in.workspace);
    }
  return fmt::format("{:016x}", hash_name(text));
}

}  // namespace megalith::cuda
