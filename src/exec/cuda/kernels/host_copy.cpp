// Copies values to pinned host memory and back, by the copy engines.
#include "ops/host_copy.h"

#include "exec/cuda/kernel.h"

namespace megalith::cuda {

static i64 local_bytes(const KernelContext& context, const Type& type) {
  return local_type(context.mesh, type).bytes();
}

Kernel prepare(const HostStore&, const KernelContext& context) {
  return {0, [bytes = local_bytes(context, context.ins[0])](const Args& a) {
            check_cuda(cudaMemcpyAsync(a.ins[1], a.ins[0], size_t(bytes), cudaMemcpyDefault, a.stream),
                       "[host_store] copying to the host");
          }};
}

Kernel prepare(const HostFetch&, const KernelContext& context) {
  return {0, [bytes = local_bytes(context, context.outs[0])](const Args& a) {
            check_cuda(cudaMemcpyAsync(a.outs[0], a.ins[0], size_t(bytes), cudaMemcpyDefault, a.stream),
                       "[host_fetch] copying from the host");
          }};
}

}  // namespace megalith::cuda
