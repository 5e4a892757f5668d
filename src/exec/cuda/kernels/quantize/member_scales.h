// Launches of CastShard and TurnCodes (ops/shard_codes.h), except those that a tensor's cast has too.
#pragma once
#include <span>

#include "exec/cuda/kernels/quantize/quantize.h"

namespace megalith::cuda {

// Pointers of a bucket's member.
struct MemberPointers {
  const float *seen, *state;  // amax over all ranks; the kept scale, or nullptr
  float *scale_inv, *amax;    // results; null: not wanted
};
// Also runs for members without an element on this rank.
void launch_member_scales(const ScaleRuleOfBox& rule, std::span<const MemberPointers> members, cudaStream_t stream);

// Codes [rows, columns] -> [columns, rows].
struct TurnLaunch {
  i64 rows = 1, columns = 1, layers = 1;  // of each matrix, and their number
};
void launch(const TurnLaunch& l, const u8* codes, u8* turned, cudaStream_t stream);

}  // namespace megalith::cuda
