#include "exec/cuda/kernels/loop_table.h"

#include "ops/loops.h"

namespace megalith::cuda {

LoopTable table_of(const std::vector<Loop>& loops) {
  check(loops.size() <= LoopTable::kMost, "a spec of {} loops: CUDA kernels take at most {}", loops.size(),
        LoopTable::kMost);
  LoopTable t;
  for (const Loop& loop : loops) {
    t.n[t.count] = loop.n;
    for (int o = 0; o < LoopTable::kOperands; ++o) t.stride[t.count][o] = loop.stride[o];
    ++t.count;
  }
  return t;
}

}  // namespace megalith::cuda
