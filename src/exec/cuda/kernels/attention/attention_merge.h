// Merges the results of queries for two sets of keys. With each set's o (normalized) and lse,
//   lse = log(exp(lse_before) + exp(lse_part))    o = exp(lse_before - lse) o_before + exp(lse_part - lse) o_part
// Rows are those of o as [s, h, d], h: samples, groups and heads. The part has the rows of s from `query` on.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct AttentionMerge {
  i64 s = 0, heads = 0, query = 0, queries = 0;
  int d = 0;                 // a multiple of 8, at most 2048
  bool wide = false;         // o is f32, else of the part's type
  DType part = DType::bf16;  // or f16
};
struct AttentionMergeBuffers {
  const void* o_part;       // bf16 or f16 [queries, h, d]
  const float* lse_part;    // [h, queries]
  const float* o_before;    // [s, h, d], or null: there were no keys before
  const float* lse_before;  // [s, h], or null
  void* o;                  // may be o_before
  float* lse;               // may be lse_before
};
void launch(const AttentionMerge& n, const AttentionMergeBuffers& x, cudaStream_t stream);

}  // namespace megalith::cuda
