#include "exec/cuda_needs/attention_sizes.h"

#include <algorithm>

#include "base/check.h"

namespace megalith::cuda {

i64 attention_stats_bytes(const AttentionSizes& z) {
  return aligned(i64(z.s) * z.b * z.g * z.r * i64(sizeof(QueryNumbers)));
}

i64 attention_grad_workspace(const AttentionSizes& z) {
  const int size = walked(z.dtype == DType::f32);
  return attention_stats_bytes(z) + i64(tiles_of(z.positions, size)) * z.b * i64(sizeof(Span));
}

i64 hopper_tiles(const AttentionSizes& z) { return i64(z.b) * z.g * z.r * hopper_query_tiles(z); }

i64 hopper_stats_blocks(const AttentionSizes& z) {
  return hopper_tiles(z) * kHopperQueries * (z.d / 8) / kHopperStatsThreads;
}

i64 hopper_grad_workspace(const AttentionSizes& z) {
  const i64 heads = i64(z.b) * std::max(z.g * z.r, z.query_heads);
  constexpr i64 kMost = i64{1} << 31;
  check(heads * z.d < kMost && heads * hopper_query_tiles(z) < kMost / 2 && hopper_stats_blocks(z) < kMost,
        "[attention_grad] {} samples of {} positions and {} heads of {} are too large", z.b, z.s, z.query_heads, z.d);
  check(z.scale > 0, "[attention_grad] scale {} is not above 0", z.scale);
  const i64 words = hopper_tiles(z) * (kHopperQueries * (z.d + 2) + 1) + 1;
  return words * i64(sizeof(float));
}

}  // namespace megalith::cuda
