// Reads a loop table on the device: the offsets of operands in each iteration of an einsum's loops.
#pragma once
#include "exec/cuda_needs/loop_table.h"

namespace megalith::cuda {

struct Offsets {
  i64 at[LoopTable::kOperands];
};

__device__ inline u32 divide(u32 i, const Divisor& d) { return u32((((u64(i) * d.multiplier) >> 32) + i) >> d.shift); }

// The offsets of iteration i, with the last loop fastest. I: u32 if the table is small, or i64.
template <class I>
__device__ inline Offsets offsets_as(const LoopTable& t, I i) {
  Offsets out = {};
#pragma unroll
  for (int l = 0; l < LoopTable::kMost; ++l) {
    if (l >= t.count) break;
    I next = 0;
    if (l + 1 < t.count) {
      if constexpr (sizeof(I) == 4)
        next = divide(i, t.divisor[l]);
      else
        next = i / t.n[l];
    }
    const i64 here = i - next * I(t.n[l]);
#pragma unroll
    for (int o = 0; o < LoopTable::kOperands; ++o) out.at[o] += here * t.stride[l][o];
    i = next;
  }
  return out;
}
__device__ inline Offsets offsets(const LoopTable& t, i64 i) {
  return t.small ? offsets_as(t, u32(i)) : offsets_as(t, i);
}

}  // namespace megalith::cuda
