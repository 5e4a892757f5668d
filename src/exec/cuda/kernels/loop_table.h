// The loops of a spec (ops/loops.h) of two operands as numbers that a kernel takes by value.
#pragma once
#include <vector>

#include "base/dtype.h"

namespace megalith {
struct Loop;
}

namespace megalith::cuda {

struct LoopTable {
  static constexpr int kMost = 8, kOperands = 2;
  int count = 0;
  i64 n[kMost] = {};
  i64 stride[kMost][kOperands] = {};  // elements
};

// Error if there are more loops than a table holds.
LoopTable table_of(const std::vector<Loop>& loops);

// Whether all strides of `operand` are multiples of `k` elements.
inline bool strides_divide(const LoopTable& t, int operand, i64 k) {
  for (int l = 0; l < t.count; ++l)
    if (t.stride[l][operand] % k != 0) return false;
  return true;
}

}  // namespace megalith::cuda
