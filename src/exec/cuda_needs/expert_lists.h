// The lists of tokens that chose an expert: ExpertCapacity's workspace.
#pragma once
#include "base/dtype.h"

namespace megalith::cuda {

inline i64 expert_lists_bytes(i64 tokens, i64 experts) { return tokens * experts * i64(sizeof(i32)); }

}  // namespace megalith::cuda
