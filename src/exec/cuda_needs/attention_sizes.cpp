#include "exec/cuda_needs/attention_sizes.h"

#include <algorithm>

#include "base/check.h"

namespace megalith::cuda {

i64 attention_stats_bytes(const AttentionSizes& z) {
  return aligned(i64(z.s) * z.b * z.g * z.r * i64(sizeof(QueryNumbers)));
}

i64 attention_spans_bytes(const AttentionSizes& z) {
  return i64(tiles_of(z.positions, walked(z.dtype == DType::f32))) * z.b * i64(sizeof(Span));
}

RelativeSpace relative_space(const AttentionSizes& z) {
  if (z.reach == 0) return {};
  constexpr int kLargest = 128, kStrip = 16;  // queries of the largest tile of any kernel; of a strip
  const int distances = 2 * z.reach + 1, strips = tiles_of(z.positions, kLargest) * (kLargest / kStrip);
  const i64 heads = i64(z.g) * z.r, row = distances * i64(sizeof(float));
  return {distances, strips, aligned(heads * row), aligned(z.b * heads * strips * row), aligned(heads * row)};
}

i64 attention_workspace(const AttentionSizes& z) { return relative_space(z).bias; }

i64 attention_grad_workspace(const AttentionSizes& z) {
  const i64 own = attention_stats_bytes(z) + attention_spans_bytes(z);
  const RelativeSpace at = relative_space(z);
  return z.reach == 0 ? own : aligned(own) + at.bias + at.sums + at.heads_sums;
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
