// The rows of a norm's gradient in a thread's registers and shared memory. With r = dy rstd:
//   dw += r (x - mean),  dx = dres + r w - base - (x - mean) slope,  where base = mean(r w) and
//   slope = rstd^2 mean(r w (x - mean)).
#pragma once
#include "exec/cuda/kernels/norm/norm.cuh"

namespace megalith::cuda {

struct GradArgs {
  NormGradBuffers b;
  DType w;
  int rows, h, lanes;
  float part;  // 1 / h
};

// The sums dw or dc of a block: `mine` of each thread, added over the groups of threads in order, to out [h].
// `memory`: shared memory, one float for each of `mine` of each thread.
template <class Stages, int kPer>
__device__ inline void store_sums(const Stages& stages, const NormLane& at, const float (&mine)[kPer], float* memory,
                                  float* out, int h) {
  constexpr int kSize = Stages::kSize;
  float* to = at.groups == 1 ? out : memory + at.group * h;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < Stages::kPacks; ++k) {
    float pack[kSize];
#pragma unroll
    for (int e = 0; e < kSize; ++e) pack[e] = mine[k * kSize + e];
    if (stages.has(k)) put_pack(to + stages.column(k), packed<float>(pack));
  }
  if (at.groups == 1) return;
  __syncthreads();
  for (int i = threadIdx.x; i < h; i += blockDim.x) {
    float sum = 0;
    for (int g = 0; g < at.groups; ++g) sum += memory[g * h + i];
    out[i] = sum;
  }
}

// The results and inputs of a form in addition to dx, dw and, for LayerNorm, dc.
template <bool kIsCentred, bool kHasResidual, bool kHasOutput, bool kHasBias, bool kGivesAmax = false>
struct GradForm {
  static constexpr bool kCentred = kIsCentred, kResidual = kHasResidual, kWithOutput = kHasOutput, kBias = kHasBias;
  static constexpr bool kAmax = kGivesAmax;
};

struct RowStats {
  float mean, rstd;
};

template <class T, int kPer, class Form>
class GradRows {
 public:
  static constexpr bool kCentred = Form::kCentred, kResidual = Form::kResidual;
  using Stages = RowStages<T, kPer, kResidual ? 3 : 2>;
  static constexpr int kSize = Stages::kSize, kSums = kCentred ? 2 : 1;

  __device__ GradRows(const GradArgs& a, const NormLane& at, void* memory)
      : a_(a), stages_(memory, at, a.h), w_(a.b.w, stages_) {}

  __device__ void fetch(int stage, int row) {
    if (row < a_.rows) {
      const i64 at = i64(row) * a_.h + stages_.column(0);
      stages_.fetch(stage, 0, static_cast<const T*>(a_.b.dy) + at);
      stages_.fetch(stage, 1, static_cast<const T*>(a_.b.x) + at);
      if constexpr (kResidual) stages_.fetch(stage, 2, static_cast<const T*>(a_.b.dres) + at);
    }
    __pipeline_commit();
  }
  __device__ RowStats stats(int row) const {
    if (row >= a_.rows) return {0, 0};
    return {kCentred ? a_.b.mean[row] : 0, a_.b.rstd[row]};
  }

  // Adds to dw and dc. sums: of r w (x - mean), and of r w.
  __device__ void add(int stage, const RowStats& row, float (&sums)[kSums]) {
#pragma unroll
    for (int k = 0; k < Stages::kPacks; ++k) {
      float dy[kSize], x[kSize], rw[kSize];
      stages_.get(stage, 0, k, dy), centred(stage, k, row.mean, x), w_.get(k, rw);
#pragma unroll
      for (int e = 0; e < kSize; ++e) {
        const float r = dy[e] * row.rstd;
        rw[e] *= r;
        dw_[k * kSize + e] += r * x[e];
        sums[0] += rw[e] * x[e];
        if constexpr (kCentred) dc_[k * kSize + e] += dy[e], sums[1] += rw[e];
        if constexpr (kHeldX) x_[k * kSize + e] = x[e];
        if constexpr (kHeldRw) rw_[k * kSize + e] = rw[e];
      }
    }
  }

  __device__ void store(int stage, int row, const RowStats& at, const float (&sums)[kSums]) {
    const float slope = at.rstd * at.rstd * (sums[0] * a_.part), base = sums[kSums - 1] * a_.part;
    if constexpr (Form::kWithOutput) store_output(stage, row, at);
    T* to = static_cast<T*>(a_.b.dx) + (i64(row) * a_.h + stages_.column(0));
#pragma unroll
    for (int k = 0; k < Stages::kPacks; ++k) {
      float x[kSize], rw[kSize], dx[kSize], dres[kSize];
      if constexpr (!kHeldX) centred(stage, k, at.mean, x);
      if constexpr (!kHeldRw) scaled(stage, k, at.rstd, rw);
      if constexpr (kResidual) stages_.get(stage, 2, k, dres);
#pragma unroll
      for (int e = 0; e < kSize; ++e) {
        if constexpr (kHeldX) x[e] = x_[k * kSize + e];
        if constexpr (kHeldRw) rw[e] = rw_[k * kSize + e];
        dx[e] = rw[e] - x[e] * slope;
        if constexpr (kCentred) dx[e] -= base;
        if constexpr (kResidual) dx[e] += dres[e];
      }
      const Pack<T, kSize> pack = packed<T>(dx);
      stages_.put(to, k, pack);
      if constexpr (Form::kBias) {
        unpack(pack, dx);
#pragma unroll
        for (int e = 0; e < kSize; ++e) db_[k * kSize + e] += dx[e];
      }
    }
  }

  // The block's sums of dw, of dc for LayerNorm, and of the bias: [sums][blocks][h].
  __device__ void finish(const NormLane& at, float* memory) {
    __pipeline_wait_prior(0);
    const i64 all = i64(gridDim.x) * a_.h;
    float* out = a_.b.workspace + i64(blockIdx.x) * a_.h;
    store_sums(stages_, at, dw_, memory, out, a_.h);
    if constexpr (kCentred) store_sums(stages_, at, dc_, memory, out + all, a_.h);
    if constexpr (Form::kBias) store_sums(stages_, at, db_, memory, out + kSums * all, a_.h);
  }

 private:
  // A separate loop: together with dx it would need too many registers.
  __device__ void store_output(int stage, int row, const RowStats& at) const {
    T* to = static_cast<T*>(a_.b.y) + (i64(row) * a_.h + stages_.column(0));
#pragma unroll
    for (int k = 0; k < Stages::kPacks; ++k) {
      if (!stages_.has(k)) continue;
      float x[kSize], w[kSize], c[kSize] = {}, y[kSize];
      centred(stage, k, at.mean, x), w_.get(k, w);
      if constexpr (kCentred) unpack(load_pack<kSize>(static_cast<const T*>(a_.b.c) + stages_.column(k)), c);
#pragma unroll
      for (int e = 0; e < kSize; ++e) y[e] = normed(kHeldX ? x_[k * kSize + e] : x[e], at.rstd, w[e], c[e]);
      stages_.put(to, k, packed<T>(y));
    }
  }

  // Kept between add() and store() if there are registers for it.
  static constexpr bool kHeldX = kPer <= 16, kHeldRw = kPer <= 16 || (sizeof(T) == 2 && !kCentred);

  __device__ void centred(int stage, int k, float mean, float (&x)[kSize]) const {
    stages_.get(stage, 1, k, x);
#pragma unroll
    for (int e = 0; e < kSize; ++e)
      if constexpr (kCentred) x[e] -= mean;
  }
  __device__ void scaled(int stage, int k, float rstd, float (&rw)[kSize]) const {
    float dy[kSize];
    stages_.get(stage, 0, k, dy), w_.get(k, rw);
#pragma unroll
    for (int e = 0; e < kSize; ++e) rw[e] *= dy[e] * rstd;
  }
  const GradArgs& a_;
  Stages stages_;
  RowWeights<Stages, T, kPer> w_;
  float dw_[kPer] = {}, dc_[kCentred ? kPer : 1] = {}, db_[Form::kBias ? kPer : 1] = {};
  float x_[kHeldX ? kPer : 1], rw_[kHeldRw ? kPer : 1];
};

}  // namespace megalith::cuda
