#pragma once
#include "exec/cuda/kernels/loop_table.h"

namespace megalith::cuda {

// The offsets of iteration i, the last loop fastest.
struct Offsets {
  i64 at[LoopTable::kOperands];
};
__device__ inline Offsets offsets(const LoopTable& t, i64 i) {
  Offsets out = {};
#pragma unroll 1
  for (int l = t.count - 1; l >= 0; --l) {
    const i64 next = l > 0 ? i / t.n[l] : 0, here = i - next * t.n[l];
#pragma unroll
    for (int o = 0; o < LoopTable::kOperands; ++o) out.at[o] += here * t.stride[l][o];
    i = next;
  }
  return out;
}

}  // namespace megalith::cuda
