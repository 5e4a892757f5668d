// One of cuDNN's scaled-dot-product attentions: what its plan, and the workspace of that, depend on.
#pragma once
#include <compare>
#include <string>

#include "base/dtype.h"

namespace megalith::cuda {

// A plan's own sizes may be a part of the tensors': some batch rows, some groups of one, or a run of queries with the
// keys up to its end. Strides are the tensors'. The last query sees the last key.
struct CudnnAttention {
  i64 b = 0, g = 0, r = 0, s = 0, t = 0, d = 0;  // s queries, t keys
  i64 all_b = 0, all_g = 0;
  i64 query_heads = 0, key_heads = 0;  // in a row of q's and dq's tensor, and of k, v, dk, dv's
  double scale = 1;
  i64 window = 0;        // 0: none
  bool causal = true;    // else every query sees every key
  bool lengths = false;  // of its sequence, which may end early
  bool bias = false;     // of all scores, the same for all samples
  bool backward = false;
  bool deterministic = true;  // of the backward: the same bits every run
  auto operator<=>(const CudnnAttention&) const = default;
};

std::string to_string(const CudnnAttention& problem);

}  // namespace megalith::cuda
