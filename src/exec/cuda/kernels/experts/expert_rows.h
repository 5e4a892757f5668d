// The plan of a dispatch (ops/expert_rows.h) on a rank with experts first .. first + experts.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct ExpertRowsLaunch {
  i64 choices, k;  // tokens x k; slots of a token
  int first, experts;
};
struct ExpertRowsBuffers {
  const i32* choice;           // [choices]
  i32 *ends, *source, *slots;  // [experts], [rows], [choices]
  i32* counts;                 // [chunks, experts]: expert_rows_workspace
};
void launch(const ExpertRowsLaunch& l, const ExpertRowsBuffers& b, cudaStream_t stream);

}  // namespace megalith::cuda
