// Kernels of AddInto and ReadFrom.
#include "exec/cuda/kernels/update/tally.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

static void check_place(std::string_view op, i64 at, i64 n, i64 size) {
  check(at >= 0 && at + n <= size, "[{}] elements {} to {} of a vector of {}", op, at, at + n, size);
}

Kernel prepare(const AddInto& op, const KernelContext& context) {
  const DType dtype = context.ins[1].dtype;
  check_dtype(op.name, dtype, {DType::f32, DType::f64});
  const i64 n = count(context.in_shape(1));
  check_place(op.name, op.at, n, context.in_shape(0)[0]);
  return {0, [dtype, n, at = op.at](const Args& a) {
            launch_add_into(dtype, n, a.first_micro_batch, a.ins[1], a.out<double>(0) + at, a.stream);
          }};
}

Kernel prepare(const ReadFrom& op, const KernelContext& context) {
  check_place(op.name, op.at, op.size, context.in_shape(0)[0]);
  return {0, [n = op.size, at = op.at](const Args& a) {
            launch_read_from(n, a.in<double>(0) + at, a.out<float>(0), a.stream);
          }};
}

}  // namespace megalith::cuda
