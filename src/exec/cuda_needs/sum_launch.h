// Sums of x over some of its dims, in two stages: f64 partial sums of chunks of the summed numbers, then their sum.
#pragma once
#include "exec/cuda_needs/loop_table.h"

namespace megalith::cuda {

// Operand 0 is x, operand 1 is the result.
struct SumLaunch {
  DType from, to;
  LoopTable kept, summed;  // by columns: `kept` lacks x's innermost loop, which has size `columns`
  i64 columns = 0;         // 0: by runs, so the sums go along x's innermost loop, or nothing is summed
  i64 column_step = 0;     // of the result
  i64 outputs = 0;
  i64 terms = 0;              // of each output
  i64 chunks = 1, chunk = 0;  // terms are cut into `chunks` of `chunk`
  bool packed = false;        // rows or runs of x can be read 16 bytes at a time
  constexpr i64 groups() const { return columns ? outputs / columns : outputs; }
  constexpr i64 workspace() const { return chunks * outputs * i64(sizeof(double)); }
};
constexpr i64 kShortRun = 1024;  // maximum terms of an output that a warp sums; more need a block

}  // namespace megalith::cuda
