// Shared code of the norm kernels: read-ahead of rows into shared memory, weights, and sums over a row's threads.
// Each thread reads only its own packs of 16 bytes, so they need no barrier. At this bandwidth every instruction
// counts. So rows have 32-bit numbers, and shared memory has constant offsets.
#pragma once
#include <cuda_pipeline.h>

#include "exec/cuda/kernels/norm/norm.h"
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

// The thread's position: its row's number in the block, and its number in the row.
struct NormLane {
  int lanes, lane, group, groups;
  __device__ explicit NormLane(int lanes)
      : lanes(lanes), lane(threadIdx.x % lanes), group(threadIdx.x / lanes), groups(blockDim.x / lanes) {}
};

// Rows in flight: kInputs tensors, kPer elements of each per thread, kDepth rows. A warp's packs are next to each
// other in shared memory: the cache splits copies to scattered addresses into as many requests.
template <class T, int kPer, int kInputs>
class RowStages {
 public:
  static constexpr int kSize = 16 / sizeof(T), kPacks = kPer / kSize;
  static constexpr int kDepth = norm_depth(kInputs * kPer * int(sizeof(T)));
  static constexpr int kSlots = kDepth * kInputs * kPacks;  // for a thread
  static constexpr int kBytes = kSlots * 16;

  // Packs beyond the row's end stay zero.
  __device__ RowStages(void* shared, const NormLane& at, int h)
      : own_(static_cast<Pack<T, kSize>*>(shared) + threadIdx.x / 32 * (kSlots * 32) + threadIdx.x % 32),
        first_(at.lane * kSize),
        stride_(at.lanes * kSize),
        left_(h - first_) {
    const float zeros[kSize] = {};
#pragma unroll
    for (int i = 0; i < kDepth * kInputs; ++i)
#pragma unroll
      for (int k = 0; k < kPacks; ++k)
        if (!has(k)) own_[(i * kPacks + k) * 32] = packed<T>(zeros);
  }

  // The first element of the thread's pack k, and whether the row has it.
  __device__ int column(int k) const { return first_ + k * stride_; }
  __device__ bool has(int k) const { return k * stride_ < left_; }

  // Starts to read a row of an input; the caller commits. `row`: the row's column(0).
  __device__ void fetch(int stage, int input, const T* row) {
#pragma unroll
    for (int k = 0; k < kPacks; ++k)
      if (has(k)) __pipeline_memcpy_async(slot(stage, input, k), row + k * stride_, 16);
  }
  __device__ void get(int stage, int input, int k, float (&to)[kSize]) const { unpack(*slot(stage, input, k), to); }
  __device__ void put(T* row, int k, const Pack<T, kSize>& x) const {
    if (has(k)) put_pack(row + k * stride_, x);
  }

 private:
  __device__ Pack<T, kSize>* slot(int stage, int input, int k) const {
    return own_ + (stage * (kInputs * kPacks) + input * kPacks + k) * 32;
  }
  Pack<T, kSize>* own_;
  int first_, stride_, left_;
};

// This thread's elements of a weight vector, in registers. A few are kept as floats, ready for use.
template <class Stages, class T, int kPer>
class RowWeights {
 public:
  static constexpr int kSize = Stages::kSize;
  __device__ RowWeights(const void* from, const Stages& stages) {
#pragma unroll
    for (int k = 0; k < Stages::kPacks; ++k) {
      const float zeros[kSize] = {};
      held_[k] = packed<Held>(zeros);
      if (!stages.has(k)) continue;
      const Pack<T, kSize> pack = load_pack<kSize>(static_cast<const T*>(from) + stages.column(k));
      float w[kSize];
      unpack(pack, w), held_[k] = packed<Held>(w);
    }
  }
  __device__ void get(int k, float (&to)[kSize]) const { unpack(held_[k], to); }

 private:
  using Held = std::conditional_t<kPer <= 16, float, T>;
  Pack<Held, kSize> held_[Stages::kPacks];
};

// y from x minus the mean. All kernels use it, so results are the same to the bit. c: 0 for RMSNorm.
__device__ inline float normed(float x, float rstd, float w, float c) { return fmaf(__fmul_rn(x, rstd), w, c); }

// Sums over a row's threads; all of them get the results. kPart: the threads are part of a warp; otherwise whole
// warps, at most kWarps. Several warps cost one barrier, because their parts alternate between two buffers in shared
// memory.
template <bool kPart, int kWarps>
class RowSums {
 public:
  static constexpr int kMost = 4;  // at once
  struct alignas(16) Shared {
    float part[2][kMost][kWarps];
  };

  __device__ RowSums(Shared& shared, int lanes) : shared_(shared), lanes_(lanes) {
    for (int i = threadIdx.x; i < 2 * kMost * kWarps; i += blockDim.x) (&shared.part[0][0][0])[i] = 0;
    __syncthreads();
  }

  template <int N>
  __device__ void operator()(float (&x)[N]) {
    static_assert(N <= kMost);
    if constexpr (kPart) {
      for (int lane = lanes_ / 2; lane > 0; lane /= 2)
#pragma unroll
        for (int n = 0; n < N; ++n) x[n] += __shfl_xor_sync(0xffffffffu, x[n], lane);
    } else {
#pragma unroll
      for (int n = 0; n < N; ++n) x[n] = warp_sum(x[n]);
      if (lanes_ > 32) add_warps(x);
    }
  }

 private:
  template <int N>
  __device__ void add_warps(float (&x)[N]) {
    float* part = shared_.part[0][0] + turn_;
    turn_ ^= kMost * kWarps;
#pragma unroll
    for (int n = 0; n < N; ++n)
      if (threadIdx.x % 32 == 0) part[n * kWarps + threadIdx.x / 32] = x[n];
    __syncthreads();
#pragma unroll
    for (int n = 0; n < N; ++n) {
      x[n] = 0;
#pragma unroll
      for (int warp = 0; warp < kWarps; warp += 4) {
        const float4 four = *reinterpret_cast<const float4*>(part + n * kWarps + warp);
        x[n] += (four.x + four.y) + (four.z + four.w);
      }
    }
  }
  Shared& shared_;
  int lanes_, turn_ = 0;
};

// Calls f.template operator()<kPer, kPart>() for norm_block(). kPer 0: the kernel for any size.
template <class F>
void with_norm_block(const NormBlock& b, F&& f) {
  if (b.per == 16 && b.lanes < 32) return f.template operator()<16, true>();
  if (b.per == 16) return f.template operator()<16, false>();
  if (b.per == 24) return f.template operator()<24, false>();
  if (b.per == 32) return f.template operator()<32, false>();
  f.template operator()<0, false>();
}

// The number of persistent blocks. Measured on an H200: 8192 elements of rows in computation on a multiprocessor, and
// two or three times as many in flight, suffice. More blocks slow memory down, and are more sums for the gradient to
// write.
template <class F>
int resident_blocks(F* kernel, const NormBlock& b, int shared, const NormDevice& device, i64 rows) {
  int fit = 0;
  check_cuda(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(device.shared - kNormStaticShared)),
      "[norm] shared memory");
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, b.threads, size_t(shared)), "[norm] blocks");
  return norm_blocks(b, fit, device, rows);
}

}  // namespace megalith::cuda
