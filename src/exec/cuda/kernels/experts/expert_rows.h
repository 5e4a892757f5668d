// The plan of a dispatch (ops/expert_rows.h) on a rank with experts first .. first + experts, and the parts of its
// tokens (ops/expert_parts.h).
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct ExpertRowsLaunch {
  i64 choices, k;  // tokens x k; slots a token
  int first, experts;
};
struct ExpertRowsBuffers {
  const i32* choice;           // [choices]
  const i32* part;             // the first token of the part, and of the next one; nullptr: the plan has all tokens
  i32 *ends, *source, *slots;  // [experts], [rows], [choices]
  i32* counts;                 // [chunks, experts]: expert_rows_workspace
};
void launch(const ExpertRowsLaunch& l, const ExpertRowsBuffers& b, cudaStream_t stream);

// cuts [parts + 1]. Each part has as many tokens as fit into `rows` rows.
struct ExpertPartsLaunch {
  i64 tokens, k;
  int first, experts;
  i64 rows, parts;
};
struct ExpertPartsBuffers {
  const i32* choice;  // [tokens, k]
  i32* cuts;
  i32* sums;  // expert_parts_workspace
};
void launch(const ExpertPartsLaunch& l, const ExpertPartsBuffers& b, cudaStream_t stream);

}  // namespace megalith::cuda
