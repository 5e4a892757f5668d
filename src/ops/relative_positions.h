// Buckets of relative positions (Raffel et al. 2020, T5): near distances have one each, farther ones share, by the
// logarithm of the distance.
#pragma once
#include "base/check.h"
#include "base/dtype.h"

namespace megalith {

// The bucket of delta = key - query among `buckets`. both_sides: keys after the query have half of them; otherwise
// all of these are in bucket 0. Of a side's buckets the first half has one distance each. The last one has all
// distances from max_distance on.
int relative_bucket(i64 delta, bool both_sides, i64 buckets, i64 max_distance);

// Error if they are too few, or the distance is within those of one each.
void check_relative_buckets(bool both_sides, i64 buckets, i64 max_distance);

}  // namespace megalith
