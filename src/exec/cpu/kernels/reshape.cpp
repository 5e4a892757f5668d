// Kernel of Reshape. It copies the bytes if output and input are not the same memory.
#include <cstring>

#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

Kernel prepare(const Reshape&, const KernelContext& context) {
  return {0, [n = count(context.in_shape(0)) * size_of(context.ins[0].dtype)](const Args& a) {
            if (a.outs[0] == a.ins[0]) return;
            parallel_blocks(n,
                            [&](i64 begin, i64 end) { std::memcpy(a.outs[0] + begin, a.ins[0] + begin, end - begin); });
          }};
}

}  // namespace megalith::cpu
