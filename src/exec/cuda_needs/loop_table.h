// The loops of a spec (ops/loops.h) over two operands, the innermost first. Kernels take this table by value.
#pragma once
#include <vector>

#include "base/dtype.h"

namespace megalith {
struct Loop;
}

namespace megalith::cuda {

// Division by a number known on the host (Granlund, Montgomery 1994): i / n = (i * multiplier / 2^32 + i) / 2^shift for
// all i below 2^32.
struct Divisor {
  u32 multiplier = 1, shift = 0;
};
Divisor divisor_of(u32 n);  // n > 0

struct LoopTable {
  static constexpr int kMost = 6, kOperands = 2;
  int count = 0;
  bool small = true;  // fewer than 2^32 iterations
  i64 n[kMost] = {};
  Divisor divisor[kMost] = {};
  i64 stride[kMost][kOperands] = {};  // elements
};

// Error if there are more loops than a table holds.
LoopTable table_of(const std::vector<Loop>& loops);

// Whether all strides of `operand` are multiples of `k` elements, from loop `first` on.
inline bool strides_divide(const LoopTable& t, int operand, i64 k, int first = 0) {
  for (int l = first; l < t.count; ++l)
    if (t.stride[l][operand] % k != 0) return false;
  return true;
}

}  // namespace megalith::cuda
