#include "exec/cuda_needs/loop_table.h"

#include <bit>

#include "ops/loops.h"

namespace megalith::cuda {

Divisor divisor_of(u32 n) {
  const u32 shift = u32(std::bit_width(n - 1));
  return {u32(((u64{1} << 32) * ((u64{1} << shift) - n)) / n + 1), shift};
}

LoopTable table_of(const std::vector<Loop>& loops) {
  check(loops.size() <= LoopTable::kMost, "a spec of {} loops: CUDA kernels take at most {}", loops.size(),
        LoopTable::kMost);
  LoopTable t;
  t.small = size_of(loops) < (i64{1} << 32);
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    t.n[t.count] = loop->n;
    if (t.small && loop->n > 0) t.divisor[t.count] = divisor_of(u32(loop->n));
    for (int o = 0; o < LoopTable::kOperands; ++o) t.stride[t.count][o] = loop->stride[o];
    ++t.count;
  }
  return t;
}

}  // namespace megalith::cuda
