// A problem for cuDNN's scaled-dot-product attention: all that its plan and the plan's workspace depend on.
#pragma once
#include <compare>
#include <string>

#include "base/dtype.h"

namespace megalith::cuda {

// The plan may cover a part of the tensors: some batch rows, some groups of one row, or a run of queries with the keys
// up to its end. Strides are those of the tensors. The last query sees the last key.
struct CudnnAttention {
  i64 b = 0, g = 0, r = 0, s = 0, t = 0, d = 0;  // s queries, t keys
  i64 all_b = 0, all_g = 0;
  i64 query_heads = 0, key_heads = 0;  // heads in a row of q and dq, and in a row of k, v, dk and dv
  DType dtype = DType::bf16;           // or f16
  double scale = 1;
  i64 window = 0;        // 0: none
  bool causal = true;    // else every query sees every key
  bool lengths = false;  // sequences may end early
  bool bias = false;     // a bias of all scores, the same for all samples
  bool backward = false;
  bool deterministic = true;  // for the backward: the same bits in every run
  auto operator<=>(const CudnnAttention&) const = default;
};

std::string to_string(const CudnnAttention& problem);

}  // namespace megalith::cuda
