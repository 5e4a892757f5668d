// The bias of relative positions by distance, and the gradient of its table. Of each head, [g, r], distances go from
// -reach to reach (exec/cuda_needs/relative_buckets.h).
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda_needs/relative_buckets.h"

namespace megalith::cuda {

struct RelativeTable {
  RelativeBuckets buckets;
  int heads;    // g r, of this rank
  DType dtype;  // of the table, or of its gradient
};

// table [heads, buckets] -> bias [heads, distances], times a factor
void spread_biases(const RelativeTable& t, const void* table, float factor, float* bias, cudaStream_t stream);

// table [heads, buckets] in bf16 or f16 -> biases [heads, queries, keys], of positions from 0 on
void write_biases(const RelativeTable& t, int queries, int keys, const void* table, void* biases, cudaStream_t stream);

// grads [samples, heads, strips, distances] -> by_distance [heads, distances] -> dtable [heads, buckets]
void sum_biases(const RelativeTable& t, int samples, int strips, const float* grads, float* by_distance, void* dtable,
                cudaStream_t stream);

}  // namespace megalith::cuda
