// Kernels of CountShares and BalanceBias.
#include "exec/cuda/kernels/router/expert_counts.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

Kernel prepare(const CountShares& op, const KernelContext& context) {
  check_dtype(op.name, context.ins[0].dtype, {DType::f32});
  return {0, [n = int(context.in_shape(0)[0])](const Args& a) {
            launch_count_shares(n, a.in<float>(0), a.out<float>(0), a.stream);
          }};
}

Kernel prepare(const BalanceBias& op, const KernelContext& context) {
  check_dtype(op.name, context.ins[0].dtype, {DType::f32}), check_dtype(op.name, context.ins[1].dtype, {DType::f32});
  return {0, [n = int(context.in_shape(0)[0]), rate = float(op.rate)](const Args& a) {
            launch_balance_bias(n, rate, a.in<float>(1), a.in<double>(2), step_scalar::kCounts, a.out<float>(0),
                                a.stream);
          }};
}

}  // namespace megalith::cuda
