// Kernel of Amax: parts of the tensor, then the largest of them.
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/magnitude.h"

namespace megalith::cpu {

Kernel prepare(const Amax& op, const Site& site) {
  check(count(site.out_shape(0)) == 1, "[{}] {} numbers of a rank: want one", op.name, count(site.out_shape(0)));
  const i64 n = count(site.in_shape(0));
  return dispatch_float(site.ins[0].dtype, [&]<class X>() -> Kernel {
    return {sum_parts(n) * i64(sizeof(u32)),
            [n](const Args& a) { *a.out<float>(0) = amax_of(a.in<X>(0), n, reinterpret_cast<u32*>(a.workspace)); }};
  });
}

}  // namespace megalith::cpu
