// Kernel of Amax: parts of the tensor, then the largest of them.
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/magnitude.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

Kernel prepare(const Amax& op, const Site& site) {
  check(count(site.out_shape(0)) == 1, "[{}] {} numbers of a rank: want one", op.name, count(site.out_shape(0)));
  const i64 n = count(site.in_shape(0));
  return dispatch_float(site.ins[0].dtype, [&]<class X>() -> Kernel {
    return {sum_parts(n) * i64(sizeof(u32)), [n](const Args& a) {
              auto* parts = reinterpret_cast<u32*>(a.workspace);
              const X* x = a.in<X>(0);
              parallel_for(sum_parts(n), 1, [&](i64 i) {
                parts[i] = largest_bits(x + i * kSumPart, std::min(n, (i + 1) * kSumPart) - i * kSumPart);
              });
              u32 bits = 0;
              for (i64 i = 0; i < sum_parts(n); ++i) bits = std::max(bits, parts[i]);
              *a.out<float>(0) = amax_of_bits(bits);
            }};
  });
}

}  // namespace megalith::cpu
