#include "ckpt/torch/buckets.h"

namespace megalith {

BucketLayout lay_out_buckets(std::span<const BucketParam> params,
                             const std::function<bool(std::size_t bucket, i64 size)>& is_full) {
  constexpr i64 kAligned = 64;
  BucketLayout layout;
  layout.places.resize(params.size());
  i64 end = 0;  // the parameters in the bucket
  const auto close = [&](i64 size) { layout.sizes.push_back(size), end = 0; };
  for (std::size_t i = params.size(); i-- > 0;) {
    i64 start = (end + kAligned - 1) / kAligned * kAligned;
    if (params[i].alone && end > 0) close(start), start = 0;
    layout.places[i] = {layout.sizes.size(), start};
    end = start + params[i].elements;
    if (params[i].alone || is_full(layout.sizes.size(), end)) close(end);
  }
  if (end > 0) close(end);
  return layout;
}

}  // namespace megalith
