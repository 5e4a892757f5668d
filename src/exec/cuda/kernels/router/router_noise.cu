#include "exec/cuda/kernels/router/router_noise.h"

#include "base/rng.h"
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

namespace {

constexpr int kNoiseThreads = 256;

__device__ inline i64 my_element() { return i64(blockIdx.x) * kNoiseThreads + threadIdx.x; }

__device__ inline float noise(const NoisePlaces& at, const i64* rows, i64 i) {
  const i64 column = i % at.columns.n, row = i / at.columns.n;
  const u64 h = mix(mix(at.seed, u64(rows[row % at.batch])), u64(at.positions[row / at.batch]));
  return float(unit(mix(h, u64(at.columns[column]))));
}

template <class T>
__global__ void __launch_bounds__(kNoiseThreads)
    jitter_kernel(const __grid_constant__ NoisePlaces at, float low, float wide, const T* x, const i64* rows, T* y) {
  const i64 i = my_element();
  if (i < at.positions.n * at.batch * at.columns.n) y[i] = narrow<T>(widen(x[i]) * (low + wide * noise(at, rows, i)));
}

__global__ void __launch_bounds__(kNoiseThreads)
    fake_kernel(const __grid_constant__ NoisePlaces at, const i64* rows, float* z) {
  const i64 i = my_element();
  if (i < at.positions.n * at.batch * at.columns.n) z[i] = 2 * noise(at, rows, i) - 1;
}

// The same as normal() of base/rng.h.
__device__ inline double normal_of(u64 h) {
  constexpr double kTwoPi = 6.28318530717958647692;
  return sqrt(-2 * log(1 - unit(mix(h, 1)))) * cos(kTwoPi * unit(mix(h, 2)));
}

__global__ void __launch_bounds__(kNoiseThreads)
    biased_kernel(const __grid_constant__ NoisePlaces at, double deviation, const float* z, float* y) {
  const i64 i = my_element();
  if (i >= at.positions.n * at.batch * at.columns.n) return;
  y[i] = z[i] + float(deviation * normal_of(mix(at.seed, u64(at.columns[i % at.columns.n]))));
}

}  // namespace

void launch_jitter(const NoisePlaces& at, DType dtype, float low, float wide, const void* x, const i64* rows, void* y,
                   cudaStream_t stream) {
  if (at.elements() == 0) return;
  dispatch_activation(dtype, [&]<class T>() {
    jitter_kernel<T><<<blocks_for(at.elements(), kNoiseThreads), kNoiseThreads, 0, stream>>>(
        at, low, wide, static_cast<const T*>(x), rows, static_cast<T*>(y));
  });
  check_launch("[jitter] launch");
}

void launch_fake_logits(const NoisePlaces& at, const i64* rows, float* z, cudaStream_t stream) {
  if (at.elements() == 0) return;
  fake_kernel<<<blocks_for(at.elements(), kNoiseThreads), kNoiseThreads, 0, stream>>>(at, rows, z);
  check_launch("[fake_logits] launch");
}

void launch_biased_logits(const NoisePlaces& at, double deviation, const float* z, float* y, cudaStream_t stream) {
  if (at.elements() == 0) return;
  biased_kernel<<<blocks_for(at.elements(), kNoiseThreads), kNoiseThreads, 0, stream>>>(at, deviation, z, y);
  check_launch("[fake_logits] launch");
}

}  // namespace megalith::cuda
