// Buckets of relative positions (Raffel et al. 2020, T5). Short distances have one bucket each; longer ones share
// buckets by the logarithm of the distance.
#pragma once
#include "base/check.h"
#include "base/dtype.h"

namespace megalith {

// The bucket of delta = key - query, of `buckets`. With both_sides keys after the query have half of the buckets;
// otherwise they are all in bucket 0. In the first half of a side each bucket has one distance. The last bucket has all
// distances from max_distance on.
int relative_bucket(i64 delta, bool both_sides, i64 buckets, i64 max_distance);

// Error if there are too few buckets, or if max_distance is within the buckets of one distance each.
void check_relative_buckets(bool both_sides, i64 buckets, i64 max_distance);

}  // namespace megalith
