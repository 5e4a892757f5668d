// Workspaces of the router's kernels: the lists of tokens that chose an expert (ExpertCapacity), and one number a token
// (Sinkhorn).
#pragma once
#include "base/dtype.h"

namespace megalith::cuda {

inline i64 expert_lists_bytes(i64 tokens, i64 experts) { return tokens * experts * i64(sizeof(i32)); }
inline i64 sinkhorn_bytes(i64 tokens) { return tokens * i64(sizeof(float)); }

}  // namespace megalith::cuda
