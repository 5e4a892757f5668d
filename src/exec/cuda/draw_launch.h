// The launch of draw.h.
#pragma once
#include "exec/cuda/block_runs.h"
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct DrawLaunch {
  u64 key;
  double mean, std;
  i64 true_rows;
  bool uniform;
  BlockRuns block;
  DType dtype;
};
void launch(const DrawLaunch& l, std::byte* out, cudaStream_t stream);

}  // namespace megalith::cuda
