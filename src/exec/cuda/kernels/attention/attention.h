// Numbers and pointers of the attention kernels. Sizes are one rank's; positions, groups and heads are global indices,
// which masks and dropout's keys go by.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda/kernels/attention/indices.h"

namespace megalith::cuda {

struct AttentionSizes {
  static constexpr int kMaxHeads = 256;  // that ALiBi's slopes are passed for
  DType dtype = DType::f32;
  int s = 0, b = 0, g = 0, r = 0, d = 0, t = 0;
  float scale = 1;
  int window = 0;
  bool alibi = false, alibi_scaled = false, dropout = false;
  u64 seed = 0, drop_below = 0;            // an element is dropped if its hash >> 11 is below it
  float keep_scale = 1;                    // 1 / (1 - p)
  Indices positions, groups, heads, keys;  // positions: of queries; keys: of keys
  float slopes[kMaxHeads] = {};            // [g, r]
  int query_heads = 0;  // heads in a row of q's (and of dq's) tensor: g r, or more where k and v lie in it too
  int key_heads = 0;    // likewise of k, v: g or more
  bool wide = false;    // o, or dq, dk and dv, are f32, whatever the dtype
  int stages = 1;       // of shared memory that keys (or queries) are loaded ahead into: 1 or 2
};

struct AttentionBuffers {
  const void *q, *k, *v;
  const i64* rows;
  const i32* starts;  // or null
  void* o;
  float* lse;
  const float *o_before = nullptr, *lse_before = nullptr;  // of keys seen before; results may lie over them
};

struct AttentionGradBuffers {
  const void *dout, *q, *k, *v, *o;
  const float* lse;
  const i64* rows;
  const i32* starts;  // or null
  void *dq, *dk, *dv;
  std::byte* workspace;
};

constexpr int kMaxHeadSize = 256;

// Bytes of shared memory that a block of the forward, or of the hungriest backward kernel, asks for.
i64 attention_shared_bytes(const AttentionSizes& z);
i64 attention_grad_shared_bytes(const AttentionSizes& z);
i64 attention_grad_workspace(const AttentionSizes& z);

void launch(const AttentionSizes& z, const AttentionBuffers& x, cudaStream_t stream);
void launch(const AttentionSizes& z, const AttentionGradBuffers& x, cudaStream_t stream);

// to[(c / group) * group_stride + (c % group) * rows + r] = from[r * columns + c]: a transpose whose rows come in
// groups that may start anywhere.
struct Transpose {
  i64 rows, columns, group, group_stride;
};
void launch(const Transpose& n, const float* from, float* to, cudaStream_t stream);

}  // namespace megalith::cuda
