// The global indices of a rank's block of a tensor, for kernels: the runs of each dim.
#pragma once
#include "base/dtype.h"

namespace megalith::cuda {

constexpr int kMostDims = 6, kMostRuns = 8;

// Consecutive global indices. `from`: the local index of the first.
struct RunAt {
  i64 from, start;
};

struct BlockRuns {
  int ndim;
  i64 size[kMostDims];  // local
  int runs[kMostDims];
  RunAt run[kMostDims][kMostRuns];

  constexpr i64 elements() const {
    i64 n = 1;
    for (int k = 0; k < ndim; ++k) n *= size[k];
    return n;
  }
  constexpr i64 global(int dim, i64 local) const {
    int r = 0;
    while (r + 1 < runs[dim] && run[dim][r + 1].from <= local) ++r;
    return run[dim][r].start + local - run[dim][r].from;
  }
};

}  // namespace megalith::cuda
