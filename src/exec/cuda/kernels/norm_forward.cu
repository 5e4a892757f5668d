// y = x rstd w, or (x - mean) rstd w + c with the variance taken over x - mean. Persistent blocks go through the rows;
// while a row is worked on, the next ones are on their way.
#include "exec/cuda/kernels/norm.cuh"

namespace megalith::cuda {

namespace {

struct NormArgs {
  NormBuffers b;
  DType w;
  i64 rows;
  int h, lanes;
  float eps;
};

// One row, of which the thread has x. Returns {mean, rstd}; mean is 0 if not kCentred.
template <bool kCentred, class Stages, int kPer>
__device__ inline float2 statistics(const NormArgs& a, const Stages& stages, const float (&x)[kPer], RowSums& sums) {
  float mean = 0, sum[1] = {};
  if constexpr (kCentred) {
#pragma unroll
    for (int i = 0; i < kPer; ++i) sum[0] += x[i];
    sums(sum);
    mean = sum[0] / float(a.h);
    sum[0] = 0;
  }
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    const float centred = x[i] - mean;
    if (!kCentred || stages.has(i / Stages::kSize)) sum[0] += centred * centred;
  }
  sums(sum);
  return {mean, 1 / sqrtf(sum[0] / float(a.h) + a.eps)};
}

template <class T, int kPer, bool kCentred>
__global__ void __launch_bounds__(kMostThreads<T, kPer>) norm_kernel(const NormArgs a) {
  using Stages = RowStages<T, kPer, 1>;
  constexpr int kSize = Stages::kSize, kAhead = Stages::kDepth - 1;
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ float parts[RowSums::kShared];
  const NormLane at(a.lanes);
  Stages stages(memory, at, a.h);
  RowSums sums(parts, a.lanes);
  const RowWeights<Stages, kPer> w(a.b.w, a.w, stages), c(kCentred ? a.b.c : a.b.w, a.w, stages);
  const i64 step = i64(gridDim.x) * at.groups;
  i64 row = i64(blockIdx.x) * at.groups + at.group;
  const auto fetch = [&](int stage, i64 r) {
    stages.fetch(stage, 0, static_cast<const T*>(a.b.x), r, r < a.rows);
    __pipeline_commit();
  };
  for (int s = 0; s < kAhead; ++s) fetch(s, row + s * step);
  for (int stage = 0; row - at.group < a.rows; row += step, stage = stage == kAhead ? 0 : stage + 1) {
    fetch(stage == 0 ? kAhead : stage - 1, row + kAhead * step);
    __pipeline_wait_prior(kAhead);
    float x[kPer];
#pragma unroll
    for (int k = 0; k < Stages::kPacks; ++k) {
      float xk[kSize];
      stages.get(stage, 0, k, xk);
#pragma unroll
      for (int e = 0; e < kSize; ++e) x[k * kSize + e] = xk[e];
    }
    const float2 stats = statistics<kCentred>(a, stages, x, sums);
    if (row >= a.rows) continue;
    if (at.lane == 0) a.b.rstd[row] = stats.y;
    if (kCentred && at.lane == 0) a.b.mean[row] = stats.x;
#pragma unroll
    for (int k = 0; k < Stages::kPacks; ++k) {
      if (!stages.has(k)) continue;
      float wk[kSize], ck[kSize] = {};
      w.get(stages, k, wk);
      if constexpr (kCentred) c.get(stages, k, ck);
      Vec<T> y;
#pragma unroll
      for (int e = 0; e < kSize; ++e) y.x[e] = narrow<T>((x[k * kSize + e] - stats.x) * stats.y * wk[e] + ck[e]);
      *reinterpret_cast<Vec<T>*>(static_cast<T*>(a.b.y) + row * a.h + stages.column(k)) = y;
    }
  }
}

// Rows of any size: a block each, element by element, read again for each sum.
template <class T, bool kCentred>
__global__ void __launch_bounds__(512) any_norm_kernel(const NormArgs a) {
  __shared__ float parts[RowSums::kShared];
  RowSums sums(parts, a.lanes);
  for (i64 row = blockIdx.x; row < a.rows; row += gridDim.x) {
    const T* x = static_cast<const T*>(a.b.x) + row * a.h;
    T* y = static_cast<T*>(a.b.y) + row * a.h;
    float mean = 0, sum[1] = {};
    if constexpr (kCentred) {
      for (int i = threadIdx.x; i < a.h; i += blockDim.x) sum[0] += widen(x[i]);
      sums(sum);
      mean = sum[0] / float(a.h), sum[0] = 0;
    }
    for (int i = threadIdx.x; i < a.h; i += blockDim.x) {
      const float centred = widen(x[i]) - mean;
      sum[0] += centred * centred;
    }
    sums(sum);
    const float rstd = 1 / sqrtf(sum[0] / float(a.h) + a.eps);
    if (threadIdx.x == 0) a.b.rstd[row] = rstd;
    if (kCentred && threadIdx.x == 0) a.b.mean[row] = mean;
    for (int i = threadIdx.x; i < a.h; i += blockDim.x) {
      float w[1], c[1] = {};
      load_widened(a.b.w, a.w, i, w);
      if constexpr (kCentred) load_widened(a.b.c, a.w, i, c);
      y[i] = narrow<T>((widen(x[i]) - mean) * rstd * w[0] + c[0]);
    }
  }
}

// f(kernel, bytes of shared memory).
template <class F>
void with_kernel(const NormShape& s, const NormBlock& b, F&& f) {
  dispatch_activation(s.x, [&]<class T>() {
    const auto centred = [&]<bool kCentred>() {
      if (b.per == 8) return f(norm_kernel<T, 8, kCentred>, RowStages<T, 8, 1>::bytes(b.threads));
      if (b.per == 16) return f(norm_kernel<T, 16, kCentred>, RowStages<T, 16, 1>::bytes(b.threads));
      if (b.per == 32) return f(norm_kernel<T, 32, kCentred>, RowStages<T, 32, 1>::bytes(b.threads));
      f(any_norm_kernel<T, kCentred>, 0);
    };
    s.centred ? centred.template operator()<true>() : centred.template operator()<false>();
  });
}

}  // namespace

NormLaunch plan_norm(const NormShape& s, double eps, const NormDevice& device) {
  constexpr int kThreads = 2048;  // a multiprocessor
  const NormBlock b = norm_block(s, 1, device);
  const i64 groups = b.threads / b.lanes;
  NormLaunch l{s, b, float(eps), 0};
  with_kernel(s, b, [&](auto* kernel, int shared) {
    l.blocks = resident_blocks(kernel, b, shared, device.sms, kThreads, (s.rows + groups - 1) / groups);
  });
  return l;
}

void launch(const NormLaunch& l, const NormBuffers& buffers, cudaStream_t stream) {
  if (l.shape.rows == 0) return;
  const NormBlock& b = l.block;
  const NormArgs args{buffers, l.shape.w, l.shape.rows, int(l.shape.h), b.lanes, l.eps};
  with_kernel(l.shape, b,
              [&](auto* kernel, int shared) { kernel<<<l.blocks, b.threads, size_t(shared), stream>>>(args); });
  check_launch("[rms_norm, layer_norm] launch");
}

}  // namespace megalith::cuda
