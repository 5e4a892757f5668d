// Writes rows of new keys or values to a cache, and computes attention of new tokens over it; shapes in
// ops/cached_attention.h. The length is read on the device. If the new rows do not fit, CacheWrite writes nothing and
// CachedAttention gives NaN.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda_needs/attention_sizes.h"

namespace megalith::cuda {

struct CacheWriteLaunch {
  i64 rows, most;  // rows of x and of the cache
  i64 row_bytes;
};
void launch(const CacheWriteLaunch& l, const void* x, const i32* length, void* cache, cudaStream_t stream);

struct CachedAttentionLaunch {
  static constexpr int kMostHeads = 1024;
  static constexpr i64 kSpan = kCacheSpan;
  DType dtype;
  i64 s, t, b, g, r, d;  // d <= 256
  float scale;
  i64 window;
  bool alibi, alibi_scaled;
  float slopes[kMostHeads] = {};  // [g, r], if alibi
  int reach = 0;                  // of relative positions (AttentionSizes)
  constexpr i64 jobs() const { return s * b * g * r; }
  constexpr i64 splits() const { return (t + kSpan - 1) / kSpan; }
  constexpr i64 workspace() const { return cached_attention_workspace(jobs(), t, d); }
};
struct CachedAttentionInputs {
  const void *q, *k, *v;
  const i32* length;
  const float* bias;  // of relative positions, as spread_biases() makes it
};
void launch(const CachedAttentionLaunch& l, const CachedAttentionInputs& in, void* o, float* workspace,
            cudaStream_t stream);

}  // namespace megalith::cuda
