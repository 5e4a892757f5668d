// Kernel of SplitMain.
#include "base/split_float.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

Kernel prepare(const SplitMain& op, const Site& site) {
  check(site.ins[0].dtype == DType::f32 && site.ins[1].dtype == DType::bf16, "[{}] {} as {}: takes f32 apart to bf16",
        op.name, name_of(site.ins[0].dtype), name_of(site.ins[1].dtype));
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
