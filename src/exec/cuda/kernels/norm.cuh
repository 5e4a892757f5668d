// What the norms' kernels share: rows that are read ahead into shared memory, each thread its own packs of 16 bytes (so
// no barrier guards them), weights, and sums over a row's threads.
#pragma once
#include <cuda_pipeline.h>

#include "exec/cuda/kernels/norm.h"
#include "exec/cuda/kernels/row_pack.cuh"

namespace megalith::cuda {

// Of norm_block(): longer f32 rows than 256 threads of 32 elements take do not fit in shared memory.
template <class T, int kPer>
constexpr int kMostThreads = kPer == 16 || (kPer == 32 && sizeof(T) == 2) ? 512 : 256;

// The thread's place: its row's number within the block, and its number within the row.
struct NormLane {
  int lanes, lane, group, groups;
  __device__ explicit NormLane(int lanes)
      : lanes(lanes), lane(threadIdx.x % lanes), group(threadIdx.x / lanes), groups(blockDim.x / lanes) {}
};

// Rows in flight: kInputs tensors, kPer elements of each a thread, kDepth rows one after another.
template <class T, int kPer, int kInputs>
class RowStages {
 public:
  static constexpr int kSize = Vec<T>::kSize, kPacks = kPer / kSize;
  static constexpr int kDepth = norm_depth(kInputs * kPer * int(sizeof(T)));
  static constexpr int bytes(int threads) { return kDepth * kInputs * kPacks * threads * 16; }

  __device__ RowStages(void* shared, const NormLane& at, int h)
      : own_(static_cast<Vec<T>*>(shared) + threadIdx.x), first_(at.lane * kSize), stride_(at.lanes * kSize), h_(h) {}

  // The first element of the thread's pack k, and whether the row has it.
  __device__ int column(int k) const { return first_ + k * stride_; }
  __device__ bool has(int k) const { return column(k) < h_; }

  // Begins to read a row of an input, zeros if it is not `there` or ends before. The caller commits.
  __device__ void fetch(int stage, int input, const T* x, i64 row, bool there) {
    const T* from = x + (there ? row * h_ : 0);
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const bool read = there && has(k);
      __pipeline_memcpy_async(slot(stage, input, k), from + (read ? column(k) : 0), 16, read ? 0 : 16);
    }
  }
  __device__ void get(int stage, int input, int k, float (&to)[kSize]) const {
    const Vec<T> v = *slot(stage, input, k);
#pragma unroll
    for (int e = 0; e < kSize; ++e) to[e] = float(v.x[e]);
  }

 private:
  __device__ Vec<T>* slot(int stage, int input, int k) const {
    return own_ + ((stage * kInputs + input) * kPacks + k) * blockDim.x;
  }
  Vec<T>* own_;
  int first_, stride_, h_;
};

// A weight vector's elements of this thread: in registers if there are few, else read again from the cache.
template <class Stages, int kPer>
class RowWeights {
 public:
  static constexpr int kSize = Stages::kSize;
  __device__ RowWeights(const void* from, DType dtype, const Stages& stages) : from_(from), dtype_(dtype) {
    if constexpr (kHeld) {
#pragma unroll
      for (int k = 0; k < Stages::kPacks; ++k) {
        float w[kSize];
        read(stages, k, w);
#pragma unroll
        for (int e = 0; e < kSize; ++e) held_[k * kSize + e] = w[e];
      }
    }
  }
  __device__ void get(const Stages& stages, int k, float (&to)[kSize]) const {
    if constexpr (kHeld) {
#pragma unroll
      for (int e = 0; e < kSize; ++e) to[e] = held_[k * kSize + e];
    } else {
      read(stages, k, to);
    }
  }

 private:
  static constexpr bool kHeld = kPer <= 16;
  __device__ void read(const Stages& stages, int k, float (&to)[kSize]) const {
#pragma unroll
    for (int e = 0; e < kSize; ++e) to[e] = 0;
    if (stages.has(k)) load_widened(from_, dtype_, stages.column(k), to);
  }
  const void* from_;
  DType dtype_;
  float held_[kHeld ? kPer : 1];
};

// Sums over a row's threads; every one of them gets the results. A row of more than a warp costs one barrier: the
// warps' parts take turns between two places in shared memory.
class RowSums {
 public:
  static constexpr int kMost = 2, kShared = 2 * kMost * 32;  // numbers at once; floats of shared memory
  __device__ RowSums(float* shared, int lanes) : shared_(shared), lanes_(lanes) {}

  template <int N>
  __device__ void operator()(float (&x)[N]) {
    static_assert(N <= kMost);
    for (int lane = min(lanes_, 32) / 2; lane > 0; lane /= 2) {
#pragma unroll
      for (int n = 0; n < N; ++n) x[n] += __shfl_xor_sync(0xffffffffu, x[n], lane);
    }
    if (lanes_ <= 32) return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = lanes_ / 32;
    float* parts = shared_ + turn_ * (kMost * 32);
    turn_ ^= 1;
#pragma unroll
    for (int n = 0; n < N; ++n)
      if (lane == 0) parts[n * 32 + warp] = x[n];
    __syncthreads();
#pragma unroll
    for (int n = 0; n < N; ++n) x[n] = warp_sum(lane < warps ? parts[n * 32 + lane] : 0.0f);
  }

 private:
  float* shared_;
  int lanes_, turn_ = 0;
};

// Blocks that fill the GPU once, at most `threads` threads a multiprocessor and no more blocks than there is work.
template <class F>
int resident_blocks(F* kernel, const NormBlock& b, int shared, int sms, int threads, i64 work) {
  int each = 0;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared), "[norm] shared memory");
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, b.threads, size_t(shared)), "[norm] blocks");
  each = std::max(1, std::min(each, threads / b.threads));
  return int(std::max<i64>(1, std::min<i64>(i64(each) * sms, work)));
}

}  // namespace megalith::cuda
