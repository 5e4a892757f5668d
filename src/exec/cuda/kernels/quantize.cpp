// Quantized products are not built for GPUs. Settings refuse them before a plan is made; this is for other callers.
#include "exec/cuda/kernel.h"

namespace megalith::cuda {

static Kernel not_built(std::string_view op) { fail("[{}] fp8 and fp4 are not built for GPUs: give --device cpu", op); }

Kernel prepare(const Amax& op, const Site&) { return not_built(op.name); }
Kernel prepare(const Quantize& op, const Site&) { return not_built(op.name); }
Kernel prepare(const RotateTokens& op, const Site&) { return not_built(op.name); }
Kernel prepare(const CollectAmax& op, const Site&) { return not_built(op.name); }
Kernel prepare(const DelayedScale& op, const Site&) { return not_built(op.name); }

}  // namespace megalith::cuda
