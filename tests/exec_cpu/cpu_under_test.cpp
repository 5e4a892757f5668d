#include "exec/cpu/kernel.h"
#include "tests/kernels/under_test.h"

namespace megalith::kernel_tests {

TestedKernel prepare_tested(const AnyOp& op, const KernelContext& context) {
  const cpu::Kernel kernel = cpu::prepare_any(op, {context.place.mesh, context.place.coord, context.ins, context.outs});
  return {kernel.workspace, [kernel](const Buffers& b) {
            kernel.run({b.ins, b.outs, b.workspace, b.first_micro_batch});
          }};
}

const std::vector<DType>& tested_dtypes() {
  static const std::vector<DType> all = {DType::f32, DType::bf16, DType::f16, DType::f64};
  return all;
}

bool same_in_place() { return true; }
double probability_error(DType dtype) { return dtype == DType::f64 ? 0x1p-53 : 0x1p-24; }

}  // namespace megalith::kernel_tests
