// Kernels of AddInto and ReadFrom.
#include "exec/cpu/kernel.h"

namespace megalith::cpu {

static void check_place(std::string_view op, i64 at, i64 n, i64 size) {
  check(at >= 0 && at + n <= size, "[{}] elements {} to {} of a vector of {}", op, at, at + n, size);
}

Kernel prepare(const AddInto& op, const KernelContext& context) {
  const i64 n = count(context.in_shape(1));
  check_place(op.name, op.at, n, context.in_shape(0)[0]);
  return dispatch_float(context.ins[1].dtype, [&]<class X>() -> Kernel {
    return {0, [n, at = op.at](const Args& a) {
              double* sums = a.out<double>(0) + at;
              for (i64 i = 0; i < n; ++i)
                sums[i] = (a.first_micro_batch ? 0 : sums[i]) + double(accum_t<X>(a.in<X>(1)[i]));
            }};
  });
}

Kernel prepare(const ReadFrom& op, const KernelContext& context) {
  check_place(op.name, op.at, op.size, context.in_shape(0)[0]);
  return {0, [n = op.size, at = op.at](const Args& a) {
            const double* sums = a.in<double>(0) + at;
            for (i64 i = 0; i < n; ++i) a.out<float>(0)[i] = float(sums[i]);
          }};
}

}  // namespace megalith::cpu
