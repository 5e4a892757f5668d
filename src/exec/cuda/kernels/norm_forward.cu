// y = x rstd w, or (x - mean) rstd w + c with the variance taken over x - mean. Persistent blocks go through the rows;
// while a row is worked on, the next ones are on their way.
#include "exec/cuda/kernels/norm.cuh"

namespace megalith::cuda {

namespace {

struct NormArgs {
  NormBuffers b;
  DType w;
  int rows, h, lanes;
  float part, eps;  // part: 1 / h
};

// Of one row, of which the thread has x: its mean (0 if not kCentred), which is taken off x, and rstd.
template <bool kCentred, class Stages, int kPer, class Sums>
__device__ inline float2 statistics(const NormArgs& a, const Stages& stages, float (&x)[kPer], Sums& sums) {
  float mean = 0, sum[1] = {};
  if constexpr (kCentred) {
#pragma unroll
    for (int i = 0; i < kPer; ++i) sum[0] += x[i];
    sums(sum);
    mean = sum[0] * a.part, sum[0] = 0;
#pragma unroll
    for (int i = 0; i < kPer; ++i) x[i] = stages.has(i / Stages::kSize) ? x[i] - mean : 0;
  }
#pragma unroll
  for (int i = 0; i < kPer; ++i) sum[0] += x[i] * x[i];
  sums(sum);
  return {mean, __frsqrt_rn(sum[0] * a.part + a.eps)};
}

template <class Stages, int kPer>
__device__ inline void read_row(const Stages& stages, int stage, float (&x)[kPer]) {
  constexpr int kSize = Stages::kSize;
#pragma unroll
  for (int k = 0; k < Stages::kPacks; ++k) {
    float pack[kSize];
    stages.get(stage, 0, k, pack);
#pragma unroll
    for (int e = 0; e < kSize; ++e) x[k * kSize + e] = pack[e];
  }
}

// Blocks a multiprocessor that registers allow without spilling.
template <class T, int kPer, bool kCentred>
constexpr int norm_residents = kPer == 32                                   ? 1
                               : kPer == 24 || (kCentred && sizeof(T) == 4) ? 2
                                                                            : 3;

template <class T, int kPer, bool kPart, bool kCentred>
__global__ void __launch_bounds__(norm_threads(kPer, sizeof(T)), norm_residents<T, kPer, kCentred>)
    norm_kernel(const NormArgs a) {
  using Stages = RowStages<T, kPer, 1>;
  using Sums = RowSums<kPart, norm_threads(kPer, sizeof(T)) / 32>;
  using Weights = RowWeights<Stages, T, kPer>;
  constexpr int kSize = Stages::kSize, kAhead = Stages::kDepth - 1;
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ typename Sums::Shared parts;
  const NormLane at(a.lanes);
  Stages stages(memory, at, a.h);
  Sums sums(parts, a.lanes);
  const Weights w(a.b.w, stages), c(kCentred ? a.b.c : a.b.w, stages);
  const int step = gridDim.x * at.groups, column = stages.column(0);
  int row = blockIdx.x * at.groups + at.group;
  const auto fetch = [&](int stage, int r) {
    if (r < a.rows) stages.fetch(stage, 0, static_cast<const T*>(a.b.x) + (i64(r) * a.h + column));
    __pipeline_commit();
  };
  for (int s = 0; s < kAhead; ++s) fetch(s, row + s * step);
  for (int stage = 0; row - at.group < a.rows; row += step, stage = stage == kAhead ? 0 : stage + 1) {
    fetch(stage == 0 ? kAhead : stage - 1, row + kAhead * step);
    __pipeline_wait_prior(kAhead);
    float x[kPer];
    read_row(stages, stage, x);
    const float2 stats = statistics<kCentred>(a, stages, x, sums);
    if (row >= a.rows) continue;
    if (at.lane == 0) a.b.rstd[row] = stats.y;
    if (kCentred && at.lane == 0) a.b.mean[row] = stats.x;
    T* to = static_cast<T*>(a.b.y) + (i64(row) * a.h + column);
#pragma unroll
    for (int k = 0; k < Stages::kPacks; ++k) {
      float y[kSize], wk[kSize], ck[kSize];
      w.get(k, wk), c.get(k, ck);
#pragma unroll
      for (int e = 0; e < kSize; ++e) y[e] = normed(x[k * kSize + e], stats.y, wk[e], kCentred ? ck[e] : 0);
      stages.put(to, k, y);
    }
  }
}

// Rows of any size: a block each, element by element, read again for each sum.
template <class T, bool kCentred>
__global__ void __launch_bounds__(512) any_norm_kernel(const NormArgs a) {
  using Sums = RowSums<false, 16>;
  __shared__ Sums::Shared parts;
  Sums sums(parts, a.lanes);
  for (int row = blockIdx.x; row < a.rows; row += gridDim.x) {
    const T* x = static_cast<const T*>(a.b.x) + i64(row) * a.h;
    T* y = static_cast<T*>(a.b.y) + i64(row) * a.h;
    float mean = 0, sum[1] = {};
    if constexpr (kCentred) {
      for (int i = threadIdx.x; i < a.h; i += blockDim.x) sum[0] += widen(x[i]);
      sums(sum);
      mean = sum[0] * a.part, sum[0] = 0;
    }
    for (int i = threadIdx.x; i < a.h; i += blockDim.x) {
      const float centred = widen(x[i]) - mean;
      sum[0] += centred * centred;
    }
    sums(sum);
    const float rstd = __frsqrt_rn(sum[0] * a.part + a.eps);
    if (threadIdx.x == 0) a.b.rstd[row] = rstd;
    if (kCentred && threadIdx.x == 0) a.b.mean[row] = mean;
    for (int i = threadIdx.x; i < a.h; i += blockDim.x) {
      float w[1], c[1] = {};
      load_widened(a.b.w, a.w, i, w);
      if constexpr (kCentred) load_widened(a.b.c, a.w, i, c);
      y[i] = narrow<T>(normed(widen(x[i]) - mean, rstd, w[0], c[0]));
    }
  }
}

// f(kernel, bytes of shared memory).
template <class T, bool kCentred, class F>
void with_typed_kernel(const NormBlock& b, F&& f) {
  with_norm_block(b, [&]<int kPer, bool kPart>() {
    if constexpr (kPer == 0)
      f(any_norm_kernel<T, kCentred>, 0);
    else
      f(norm_kernel<T, kPer, kPart, kCentred>, b.threads * RowStages<T, kPer, 1>::kBytes);
  });
}
template <class F>
void with_kernel(const NormShape& s, const NormBlock& b, F&& f) {
  dispatch_activation(
      s.x, [&]<class T>() { s.centred ? with_typed_kernel<T, true>(b, f) : with_typed_kernel<T, false>(b, f); });
}

}  // namespace

NormLaunch plan_norm(const NormShape& s, double eps, const NormDevice& device) {
  NormLaunch l{s, norm_block(s, 1, device), float(eps), 0};
  with_kernel(s, l.block,
              [&](auto* kernel, int shared) { l.blocks = resident_blocks(kernel, l.block, shared, device, s.rows); });
  return l;
}

void launch(const NormLaunch& l, const NormBuffers& buffers, cudaStream_t stream) {
  const NormShape& s = l.shape;
  if (s.rows == 0) return;
  const NormArgs args{buffers, s.w, int(s.rows), int(s.h), l.block.lanes, 1 / float(s.h), l.eps};
  with_kernel(s, l.block,
              [&](auto* kernel, int shared) { kernel<<<l.blocks, l.block.threads, size_t(shared), stream>>>(args); });
  check_launch("[rms_norm, layer_norm] launch");
}

}  // namespace megalith::cuda
