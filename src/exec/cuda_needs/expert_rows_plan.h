// ExpertRows on a GPU: choices are cut into chunks, and what each chunk has of each expert is counted apart.
#pragma once
#include "base/dtype.h"

namespace megalith::cuda {

constexpr i64 kExpertRowsChunk = 1024;  // choices

inline i64 expert_rows_chunks(i64 choices) { return (choices + kExpertRowsChunk - 1) / kExpertRowsChunk; }
inline i64 expert_rows_workspace(i64 choices, i64 experts) {
  return expert_rows_chunks(choices) * experts * i64(sizeof(i32));
}

}  // namespace megalith::cuda
