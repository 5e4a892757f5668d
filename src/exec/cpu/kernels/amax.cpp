// Kernel of Amax. Threads find the maximum of each part of the tensor, then one thread the maximum of the parts.
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/magnitude.h"

namespace megalith::cpu {

Kernel prepare(const Amax& op, const KernelContext& context) {
  check(count(context.out_shape(0)) == 1, "[{}] {} numbers of a rank: want one", op.name, count(context.out_shape(0)));
  const i64 n = count(context.in_shape(0));
  return dispatch_float(context.ins[0].dtype, [&]<class X>() -> Kernel {
    return {sum_parts(n) * i64(sizeof(u32)),
            [n](const Args& a) { *a.out<float>(0) = amax_of(a.in<X>(0), n, reinterpret_cast<u32*>(a.workspace)); }};
  });
}

}  // namespace megalith::cpu
