// ExpertRows on a GPU: choices are cut into chunks, and each chunk's choices of each expert are counted separately.
// ExpertParts: tokens are cut into chunks, and each chunk's rows are counted separately.
#pragma once
#include "base/dtype.h"

namespace megalith::cuda {

constexpr i64 kExpertRowsChunk = 1024;  // choices

inline i64 expert_rows_chunks(i64 choices) { return (choices + kExpertRowsChunk - 1) / kExpertRowsChunk; }
inline i64 expert_rows_workspace(i64 choices, i64 experts) {
  return expert_rows_chunks(choices) * experts * i64(sizeof(i32));
}

constexpr i64 kExpertPartsChunk = 256;  // tokens

inline i64 expert_parts_chunks(i64 tokens) { return (tokens + kExpertPartsChunk - 1) / kExpertPartsChunk; }
inline i64 expert_parts_workspace(i64 tokens) { return (expert_parts_chunks(tokens) + tokens) * i64(sizeof(i32)); }

}  // namespace megalith::cuda
