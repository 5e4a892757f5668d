// Kernel of Normalize. It sums the squares of each block, and adds the blocks' sums in order. A second pass scales the
// values.
#include <cmath>

#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

Kernel prepare(const Normalize& op, const KernelContext& context) {
  return dispatch_float(context.ins[0].dtype, [&]<class X>() -> Kernel {
    const Shape shape = context.in_shape(0);
    const i64 stack = shape[0], n = stack > 0 ? count(shape) / stack : 0, blocks = (n + kBlock - 1) / kBlock;
    return {blocks * i64(sizeof(double)), [stack, n, blocks, eps = op.eps](const Args& a) {
              auto* sums = reinterpret_cast<double*>(a.workspace);
              for (i64 k = 0; k < stack; ++k) {
                const X* x = a.in<X>(0) + k * n;
                X* y = a.out<X>(0) + k * n;
                parallel_ranges(blocks, 1, [&](i64 begin, i64 end) {
                  for (i64 i = begin; i < end; ++i)
                    sums[i] = sum_of_products(x + i * kBlock, x + i * kBlock, std::min(kBlock, n - i * kBlock));
                });
                double squares = 0;
                for (i64 i = 0; i < blocks; ++i) squares += sums[i];
                const auto scale = accum_t<X>(1 / std::max(std::sqrt(squares), eps));
                parallel_blocks(n, [&](i64 begin, i64 end) {
                  map(
                      end - begin, [&](auto v) { return scale * v; }, y + begin, x + begin);
                });
              }
            }};
  });
}

}  // namespace megalith::cpu
