// Buckets of relative positions as kernels take them: by value. From a distance on all keys of a side have one bucket,
// so a head's biases are a short row: those of all distances key - query up to that, at either side.
#pragma once
#include "base/dtype.h"

namespace megalith {
struct AttentionSpec;
}

namespace megalith::cuda {

struct RelativeBuckets {
  static constexpr int kMostFar = 256;
  int count = 0;             // of both sides; 0: there is no table
  int side = 0, exact = 0;   // buckets of a side; its first ones have one distance each
  bool both_sides = false;   // otherwise keys after the query are in bucket 0
  int reach = 0;             // from this distance on there is one bucket
  int far = 0;               // of a side's other buckets but the first
  int first[kMostFar] = {};  // the least distances of those

  constexpr int distances() const { return count ? 2 * reach + 1 : 0; }
  // delta: key - query. As relative_bucket() has it; device code too.
  constexpr int of(int delta) const {
    const int base = both_sides && delta > 0 ? side : 0;
    const int distance = delta < 0 ? -delta : both_sides ? delta : 0;
    if (distance < exact) return base + distance;
    int n = exact;
    for (int i = 0; i < far; ++i) n += first[i] <= distance;
    return base + n;
  }
};

// Error for more buckets than fit. `longest`: no distance is above it.
RelativeBuckets relative_buckets(const AttentionSpec& at, i64 longest);

}  // namespace megalith::cuda
