#include "exec/cuda_needs/relative_buckets.h"

#include <algorithm>

#include "ops/attention.h"
#include "ops/relative_positions.h"

namespace megalith::cuda {

RelativeBuckets relative_buckets(const AttentionSpec& at, i64 longest) {
  RelativeBuckets out;
  if (!at.buckets) return out;
  const auto bucket = [&](i64 distance) { return relative_bucket(-distance, !at.causal, at.buckets, at.max_distance); };
  out.both_sides = !at.causal, out.count = int(at.buckets);
  out.side = int(out.both_sides ? at.buckets / 2 : at.buckets), out.exact = out.side / 2;
  out.far = out.side - out.exact - 1;
  check(out.far <= RelativeBuckets::kMostFar,
        "[attention] {} buckets of relative positions have no CUDA kernel: at most {} a side", at.buckets,
        2 * RelativeBuckets::kMostFar);
  // Beyond the largest distance logarithms may be rounded down.
  const i64 end = std::max<i64>(1, std::min(longest, at.max_distance + at.max_distance / 8 + 8));
  constexpr int kNever = 1 << 30;
  std::fill(out.first, out.first + out.far, kNever);
  for (i64 distance = end; distance > 0; --distance) {
    const int b = bucket(distance);
    for (int i = 0; i < out.far && out.exact + 1 + i <= b; ++i) out.first[i] = int(distance);
    if (out.reach == 0 && b != bucket(distance - 1)) out.reach = int(distance);
  }
  out.reach = std::max(out.reach, 1);
  return out;
}

}  // namespace megalith::cuda
