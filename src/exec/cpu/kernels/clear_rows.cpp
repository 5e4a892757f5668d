// Kernel of ClearRows.
#include "ops/clear_rows.h"

#include <algorithm>

#include "base/threads.h"
#include "exec/cpu/kernel.h"

namespace megalith::cpu {

Kernel prepare(const ClearRows&, const KernelContext& context) {
  const Shape shape = context.in_shape(0);
  const i64 rows = shape[0], row = rows ? count(shape) / rows * size_of(context.ins[0].dtype) : 0;
  return {
      0, [=, experts = context.in_shape(1)[1]](const Args& a) {
        const i64 filled = std::clamp<i64>(a.in<i32>(1)[experts - 1], 0, rows) * row;
        constexpr i64 kPiece = 1 << 16;  // bytes
        if (a.outs[0] != a.ins[0])
          parallel_ranges(filled, kPiece, [&](i64 b, i64 e) { std::copy(a.ins[0] + b, a.ins[0] + e, a.outs[0] + b); });
        parallel_ranges(rows * row - filled, kPiece,
                        [&](i64 b, i64 e) { std::fill(a.outs[0] + filled + b, a.outs[0] + filled + e, std::byte(0)); });
      }};
}

}  // namespace megalith::cpu
