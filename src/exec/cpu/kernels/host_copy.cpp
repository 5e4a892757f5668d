// Copies of values to the host's memory and back. On the CPU, host and device have the same memory. On a lane,
// HostStore copies when its transfer ends, and HostFetch when its transfer begins. These are the latest and the
// earliest times on a GPU.
#include "ops/host_copy.h"

#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/copy_bytes.h"

namespace megalith::cpu {

static i64 local_bytes(const KernelContext& context, const Type& type) {
  return local_type(context.mesh, type).bytes();
}

Kernel prepare(const HostStore& op, const KernelContext& context) {
  const auto store = [bytes = local_bytes(context, context.ins[0])](const Args& a) {
    copy_bytes(a.ins[1], a.ins[0], bytes);
  };
  if (!op.lane) return {0, store};
  return {0, [](const Args&) {}, store};
}

Kernel prepare(const HostFetch&, const KernelContext& context) {
  return {0, [bytes = local_bytes(context, context.outs[0])](const Args& a) { copy_bytes(a.outs[0], a.ins[0], bytes); },
          [](const Args&) {}};
}

}  // namespace megalith::cpu
