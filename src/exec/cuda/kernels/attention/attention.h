// Numbers and pointers of the attention kernels. Sizes are one rank's; positions, groups and heads are global indices,
// which masks and dropout's keys go by.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda_needs/attention_sizes.h"

namespace megalith::cuda {

struct AttentionBuffers {
  const void *q, *k, *v;
  const i64* rows;
  const i32 *starts, *lengths;  // or null
  void* o;
  float* lse;
  const float *o_before = nullptr, *lse_before = nullptr;  // of earlier keys; results may overlap them
  const float* bias = nullptr;                             // of relative positions, as spread_biases() makes it
};

struct AttentionGradBuffers {
  const void *dout, *q, *k, *v, *o;
  const float* lse;
  const i64* rows;
  const i32 *starts, *lengths;  // or null
  void *dq, *dk, *dv;
  std::byte* workspace;
  const float* bias = nullptr;  // as in AttentionBuffers
  float* bias_grads = nullptr;  // [b, g, r, strips, distances], zeros: gradients of it
  int strips = 0;               // of 16 queries
};

// Bytes of shared memory of a block: of the forward, or of the backward kernel that needs the most.
i64 attention_shared_bytes(const AttentionSizes& z);
i64 attention_grad_shared_bytes(const AttentionSizes& z);

void launch(const AttentionSizes& z, const AttentionBuffers& x, cudaStream_t stream);
void launch(const AttentionSizes& z, const AttentionGradBuffers& x, cudaStream_t stream);

// to[(c / group) * group_stride + (c % group) * rows + r] = from[r * columns + c]: a transpose whose rows form groups
// with any starts.
struct Transpose {
  i64 rows, columns, group, group_stride;
};
void launch(const Transpose& n, const float* from, float* to, cudaStream_t stream);

}  // namespace megalith::cuda
