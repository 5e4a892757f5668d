// Kernel of Detach: its result is its input's memory.
#include "exec/cuda/kernel.h"

namespace megalith::cuda {

Kernel prepare(const Detach&, const KernelContext&) {
  return {0, [](const Args&) {}};
}

}  // namespace megalith::cuda
