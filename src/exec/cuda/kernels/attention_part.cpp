// Attention over a ring of ranks has no kernels for GPUs yet.
#include "ops/attention_part.h"

#include "exec/cuda/kernel.h"

namespace megalith::cuda {

[[noreturn]] static void refuse() {
  fail("--cp-comm-type p2p is not built for GPUs yet: use all_gather, which gives the same");
}

Kernel prepare(const AttentionPart&, const Site&) { refuse(); }
Kernel prepare(const AttentionPartGrad&, const Site&) { refuse(); }

}  // namespace megalith::cuda
