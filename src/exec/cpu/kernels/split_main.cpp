// Kernel of SplitMain.
#include "base/split_float.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

static Kernel rounded(i64 n) {
  return {0, [n](const Args& a) {
            parallel_blocks(
                n, [&](i64 begin, i64 end) { map(end - begin, kSame, a.out<f16>(0) + begin, a.in<float>(0) + begin); });
          }};
}

Kernel prepare(const SplitMain& op, const KernelContext& context) {
  const DType bf16_half = context.ins[1].dtype;
  check(context.ins[0].dtype == DType::f32 && (bf16_half == DType::bf16 || (bf16_half == DType::f16 && !op.low_half)),
        "[{}] {} as {}: takes f32 apart to bf16, or rounds it to f16", op.name, name_of(context.ins[0].dtype),
        name_of(bf16_half));
  if (bf16_half == DType::f16) return rounded(count(context.in_shape(0)));
  return {0, [op, n = count(context.in_shape(0))](const Args& a) {
            const float* x = a.in<float>(0);
            bf16* bf16_half = a.out<bf16>(0);
            u16* low_half = op.low_half ? a.out<u16>(1) : nullptr;
            parallel_blocks(n, [&](i64 begin, i64 end) {
              for (i64 i = begin; i < end; ++i) bf16_half[i] = bf16_half_of(x[i]);
              for (i64 i = begin; low_half && i < end; ++i) low_half[i] = low_half_of(x[i]);
            });
          }};
}

}  // namespace megalith::cpu
