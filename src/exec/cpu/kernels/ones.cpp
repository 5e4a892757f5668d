// Kernel of Ones.
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

Kernel prepare(const Ones&, const KernelContext& context) {
  return dispatch_float(context.outs[0].dtype, [&]<class Y>() -> Kernel {
    return {0, [n = count(context.out_shape(0))](const Args& a) {
              parallel_blocks(n, [&](i64 begin, i64 end) { std::fill(a.out<Y>(0) + begin, a.out<Y>(0) + end, Y(1)); });
            }};
  });
}

}  // namespace megalith::cpu
