// Kernels of CountShares and BalanceBias.
#include "exec/cpu/kernels/router_row.h"

namespace megalith::cpu {

Kernel prepare(const CountShares& op, const KernelContext& context) {
  return for_router(op.name, context.ins[0].dtype, [&]<class A>() -> Kernel {
    return {0, [n = context.in_shape(0)[0]](const Args& a) {
              double sum = 0;
              for (i64 i = 0; i < n; ++i) sum += double(a.in<A>(0)[i]);
              for (i64 i = 0; i < n; ++i) a.out<A>(0)[i] = sum == 0 ? A(0) : A(double(a.in<A>(0)[i]) / sum);
            }};
  });
}

Kernel prepare(const BalanceBias& op, const KernelContext& context) {
  for (int i : {0, 1})
    check(context.ins[size_t(i)].dtype == DType::f32, "[{}] input {} in {}: want f32", op.name, i,
          name_of(context.ins[size_t(i)].dtype));
  return {0, [n = context.in_shape(0)[0], rate = float(op.rate)](const Args& a) {
            if (a.in<double>(2)[step_scalar::kCounts] == 0) return;
            const float* count = a.in<float>(1);
            double sum = 0;
            for (i64 i = 0; i < n; ++i) sum += double(count[i]);
            for (i64 i = 0; i < n; ++i) {
              const double above = double(count[i]) * double(n) - sum;  // integers, so the mean is not rounded
              if (above != 0) a.out<float>(0)[i] += above < 0 ? rate : -rate;
            }
          }};
}

}  // namespace megalith::cpu
