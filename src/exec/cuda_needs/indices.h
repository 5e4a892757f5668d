// The global indices along a dim that a rank holds, as a few runs of consecutive numbers. Kernels take this table by
// value.
#pragma once
#include "base/dtype.h"

namespace megalith {
struct Type;
}

namespace megalith::cuda {

struct LocalNode;

struct Indices {
  static constexpr int kMost = 8;
  i64 n = 0;  // local size
  int runs = 0;
  i64 start[kMost] = {};  // global start of each run
  i64 place[kMost] = {};  // local index of each run's first

  constexpr i64 length(int run) const { return (run + 1 < runs ? place[run + 1] : n) - place[run]; }
  constexpr i64 operator[](i64 i) const {  // callable from device code
    i64 global = start[0] + i;
#pragma unroll 1
    for (int r = 1; r < runs; ++r)
      if (i >= place[r]) global = start[r] + i - place[r];
    return global;
  }
};

// The indices along a dim of input i, or of any type. Error if there are more runs than a table holds.
Indices indices_of(const LocalNode& node, int i, int dim);
Indices indices_of(const LocalNode& node, const Type& type, int dim);

// Whether no pack of k neighbours, which starts at a multiple of k, crosses the end of a run.
bool runs_divide(const Indices& x, i64 k);

}  // namespace megalith::cuda
