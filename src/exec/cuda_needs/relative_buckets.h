// Buckets of relative positions, in the form that kernels take by value. From some distance on all keys of a side have
// one bucket. So a head's biases by distance key - query are a short row, up to this distance on both sides.
#pragma once
#include "base/dtype.h"

namespace megalith {
struct AttentionSpec;
}

namespace megalith::cuda {

struct RelativeBuckets {
  static constexpr int kMostFar = 256;
  int count = 0;             // buckets of both sides; 0: there is no table
  int side = 0, exact = 0;   // buckets of a side; the first ones of it have one distance each
  bool both_sides = false;   // otherwise keys after the query are in bucket 0
  int reach = 0;             // from this distance on all keys are in one bucket
  int far = 0;               // number of a side's other buckets, without the first of them
  int first[kMostFar] = {};  // the smallest distances of those

  constexpr int distances() const { return count ? 2 * reach + 1 : 0; }
  // The bucket of delta = key - query, like relative_bucket(). Callable from device code.
  constexpr int of(int delta) const {
    const int base = both_sides && delta > 0 ? side : 0;
    const int distance = delta < 0 ? -delta : both_sides ? delta : 0;
    if (distance < exact) return base + distance;
    int n = exact;
    for (int i = 0; i < far; ++i) n += first[i] <= distance;
    return base + n;
  }
};

// Error if there are more buckets than fit. `longest`: maximum distance.
RelativeBuckets relative_buckets(const AttentionSpec& at, i64 longest);

}  // namespace megalith::cuda
