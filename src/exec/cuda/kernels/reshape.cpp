// Kernel of Reshape: the same bytes.
#include "exec/cuda/kernel.h"

namespace megalith::cuda {

Kernel prepare(const Reshape&, const KernelContext& context) {
  return {0, [bytes = count(context.in_shape(0)) * size_of(context.ins[0].dtype)](const Args& a) {
            if (a.outs[0] == a.ins[0] || bytes == 0) return;
            check_cuda(cudaMemcpyAsync(a.outs[0], a.ins[0], size_t(bytes), cudaMemcpyDeviceToDevice, a.stream),
                       "[reshape] copy");
          }};
}

}  // namespace megalith::cuda
