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

Kernel prepare(const SplitMain& op, const Site& site) {
  const DType near = site.ins[1].dtype;
  check(site.ins[0].dtype == DType::f32 && (near == DType::bf16 || (near == DType::f16 && !op.rest)),
        "[{}] {} as {}: takes f32 apart to bf16, or rounds it to f16", op.name, name_of(site.ins[0].dtype),
        name_of(near));
  if (near == DType::f16) return rounded(count(site.in_shape(0)));
  return {0, [op, n = count(site.in_shape(0))](const Args& a) {
            const float* x = a.in<float>(0);
            bf16* near = a.out<bf16>(0);
            u16* rest = op.rest ? a.out<u16>(1) : nullptr;
            parallel_blocks(n, [&](i64 begin, i64 end) {
              for (i64 i = begin; i < end; ++i) near[i] = near_of(x[i]);
              for (i64 i = begin; rest && i < end; ++i) rest[i] = rest_of(x[i]);
            });
          }};
}

}  // namespace megalith::cpu
