// The launch behind draw.h.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

constexpr int kMostDims = 6, kMostRuns = 8;

// Consecutive global indices, `from` being the local index of the first.
struct RunAt {
  i64 from, start;
};

struct DrawLaunch {
  u64 key;
  double mean, std;
  i64 true_rows;
  bool uniform;
  int ndim;
  i64 size[kMostDims];  // local
  int runs[kMostDims];
  RunAt run[kMostDims][kMostRuns];
  DType dtype;
};
void launch(const DrawLaunch& l, std::byte* out, cudaStream_t stream);

}  // namespace megalith::cuda
