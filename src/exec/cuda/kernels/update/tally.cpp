// Kernels of AddInto and ReadFrom.
#include "exec/cuda/kernels/update/tally.h"

#include "exec/cuda/kernel.h"
#include "exec/cuda_needs/supported.h"

namespace megalith::cuda {

static void check_place(std::string_view op, i64 at, i64 n, i64 size) {
  check(at >= 0 && at + n <= size, "[{}] elements {} to {} of a vector of {}", op, at, at + n, size);
}

Kernel prepare(const AddInto& op, const Site& site) {
  const DType dtype = site.ins[1].dtype;
  check_dtype(op.name, dtype, {DType::f32, DType::f64});
  const i64 n = count(site.in_shape(1));
  check_place(op.name, op.at, n, site.in_shape(0)[0]);
  return {0, [dtype, n, at = op.at](const Args& a) {
            launch_add_into(dtype, n, a.first_micro_batch, a.ins[1], a.out<double>(0) + at, a.stream);
          }};
}

Kernel prepare(const ReadFrom& op, const Site& site) {
  check_place(op.name, op.at, op.size, site.in_shape(0)[0]);
  return {0, [n = op.size, at = op.at](const Args& a) {
            launch_read_from(n, a.in<double>(0) + at, a.out<float>(0), a.stream);
          }};
}

}  // namespace megalith::cuda
