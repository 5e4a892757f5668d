#include "exec/cuda/kernel.h"

namespace megalith::cuda {

Kernel prepare_any(const AnyOp& op, const KernelContext& context) {
#define OP(T) \
  if (const T* it = op.get_if<T>()) return prepare(*it, context);
#include "ops/ops.def"
#undef OP
  fail("[{}] has no CUDA kernel", op.name());
}

}  // namespace megalith::cuda
