// ops/router_noise.h: x [s,b,n]. Each element's number is keyed by its global index.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda_needs/indices.h"

namespace megalith::cuda {

struct NoisePlaces {
  u64 seed;
  Indices positions, columns;
  i64 batch;
  i64 elements() const { return positions.n * batch * columns.n; }
};
// y = x times low + wide u; x, y of type `dtype` (f32, bf16).
void launch_jitter(const NoisePlaces& at, DType dtype, float low, float wide, const void* x, const i64* rows, void* y,
                   cudaStream_t stream);
// z = 2 u - 1
void launch_fake_logits(const NoisePlaces& at, const i64* rows, float* z, cudaStream_t stream);
// y = z + deviation times a normal number of the column.
void launch_biased_logits(const NoisePlaces& at, double deviation, const float* z, float* y, cudaStream_t stream);

}  // namespace megalith::cuda
