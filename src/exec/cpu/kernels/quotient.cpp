// Kernel of Quotient.
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

Kernel prepare(const Quotient&, const KernelContext& context) {
  return dispatch_float(context.ins[0].dtype, []<class T>() -> Kernel {
    return {0, [](const Args& a) {
              const double over = double(*a.in<T>(1));
              *a.out<T>(0) = T(float(0));
              if (over != 0) *a.out<T>(0) = T(accum_t<T>(double(*a.in<T>(0)) / over));
            }};
  });
}

}  // namespace megalith::cpu
