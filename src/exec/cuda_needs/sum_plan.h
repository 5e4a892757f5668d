// How a GPU divides sums.
#pragma once
#include "exec/cuda_needs/local_node.h"
#include "exec/cuda_needs/sum_launch.h"
#include "ops/loops.h"
#include "ops/sum.h"

namespace megalith::cuda {

struct SumLoops {
  std::vector<Loop> kept, summed;
};
SumLoops loops_of(const Sum& op, const LocalNode& node);
SumLaunch plan_sum(DType from, DType to, const SumLoops& loops);
// Whether sum_hopper.cu is used. Its clusters divide rows into only 8 parts. So few columns give too few blocks for the
// GPU; with many columns sum.cu has enough blocks too. Both limits are measured; between them it took 2 to 19% less
// time.
bool fits_hopper(const SumLaunch& l, int capability);

// Sums of the columns of [rows, columns], for kernels that write the partial sums of chunks of rows themselves.
SumLaunch column_sums(DType from, DType to, i64 rows, i64 columns);
// Whether they can: the columns are one loop, and rows can be read 16 bytes at a time.
bool adds_on_the_way(const SumLaunch& sums, i64 rows, i64 columns);

}  // namespace megalith::cuda
