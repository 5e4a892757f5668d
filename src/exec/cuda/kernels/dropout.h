// `y = x / (1 - p)` if the hash of an element's global index is at least p, else 0. x, y of type `x` (f32, bf16); y may
// be x.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda_needs/indices.h"

namespace megalith::cuda {

struct DropoutLaunch {
  static constexpr int kMostDims = 8;
  DType x;
  u64 seed, below;  // dropped if hash >> 11 is below it
  float keep;       // the factor 1 / (1 - p)
  int dims, batch;  // number of dims; the dim that the sample number replaces
  Indices index[kMostDims];
  i64 outer, inner;  // elements of all dims but the last; of the last
  bool packs;        // whether 16-byte packs divide `inner`
};
void launch(const DropoutLaunch& l, const void* x, const i64* rows, void* y, cudaStream_t stream);

}  // namespace megalith::cuda
