// The offsets of parameters in the flat buffer of Megatron-LM's distributed optimizer. Parameters are in reverse order,
// each at a multiple of 64 elements. The buffer is cut into buckets; no file contains the padding at a bucket's end.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct BucketParam {
  i64 elements;
  bool alone = false;  // in a separate bucket: an embedding that two pipeline stages share
};

struct BucketPlace {
  std::size_t bucket;
  i64 start;  // in the bucket
};

struct BucketLayout {
  std::vector<i64> sizes;           // of the buckets
  std::vector<BucketPlace> places;  // of the parameters, in their order
};

// `params`: in the model's order. `is_full`: whether a bucket ends at this many elements.
BucketLayout lay_out_buckets(std::span<const BucketParam> params,
                             const std::function<bool(std::size_t bucket, i64 size)>& is_full);

}  // namespace megalith
