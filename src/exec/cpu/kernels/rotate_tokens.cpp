// Kernel of RotateTokens. It rotates each 16 tokens along s of x [s, ...], for each index of the other dims. Sums are
// f64.
#include <array>

#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/strided.h"
#include "quant/nvfp4.h"

namespace megalith::cpu {

Kernel prepare(const RotateTokens& op, const KernelContext& context) {
  constexpr i64 kTokens = RotateTokens::kTokens;
  static_assert(kTokens == quant::kNvBlock);
  const Shape shape = context.in_shape(0);
  check(shape[0] % kTokens == 0, "[{}] {} tokens of a rank: want a multiple of {}", op.name, shape[0], kTokens);
  return dispatch_float(context.ins[0].dtype, [&]<class X>() -> Kernel {
    return {0, [tokens = shape[0], n = shape[0] > 0 ? count(shape) / shape[0] : 0](const Args& a) {
              parallel_for(tokens / kTokens, 1, [&](i64 group) {
                const X* x = a.in<X>(0) + group * kTokens * n;
                X* y = a.out<X>(0) + group * kTokens * n;
                for (i64 c = 0; c < n; ++c) {
                  std::array<double, size_t(kTokens)> v;
                  for (i64 i = 0; i < kTokens; ++i) v[size_t(i)] = double(x[i * n + c]);
                  quant::rotate_16(v);
                  for (i64 i = 0; i < kTokens; ++i) y[i * n + c] = X(accum_t<X>(v[size_t(i)]));
                }
              });
            }};
  });
}

}  // namespace megalith::cpu
