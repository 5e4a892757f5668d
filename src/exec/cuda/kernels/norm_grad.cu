// With n = x rstd (LayerNorm: (x - mean) rstd) and g = dy w:
//   dx = dres + rstd (g - mean(g) - n mean(g n)), mean(g) of LayerNorm only;  dw = sum of dy n,  dc = sum of dy.
// One pass over memory: persistent blocks go through the rows, the next rows on their way meanwhile, and keep the sums
// of their rows in registers; at the end each block writes its sums, and a second kernel adds the blocks' in order.
#include "exec/cuda/kernels/norm.cuh"

namespace megalith::cuda {

namespace {

struct GradArgs {
  NormGradBuffers b;
  DType w;
  i64 rows;
  int h, lanes;
};

// The sums dw or dc of a block: `mine` of each thread, added over the groups of threads in order, to out [h].
// `memory`: shared, a float for each of `mine` and each thread.
template <class Stages, int kPer>
__device__ inline void store_sums(const Stages& stages, const NormLane& at, const float (&mine)[kPer], float* memory,
                                  float* out, int h) {
  constexpr int kSize = Stages::kSize;
  float* to = at.groups == 1 ? out : memory + at.group * h;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < Stages::kPacks; ++k)
    if (stages.has(k)) {
      Pack<float, kSize> pack;
#pragma unroll
      for (int e = 0; e < kSize; ++e) pack.x[e] = mine[k * kSize + e];
      *reinterpret_cast<Pack<float, kSize>*>(to + stages.column(k)) = pack;
    }
  if (at.groups == 1) return;
  __syncthreads();
  for (int i = threadIdx.x; i < h; i += blockDim.x) {
    float sum = 0;
    for (int g = 0; g < at.groups; ++g) sum += memory[g * h + i];
    out[i] = sum;
  }
}

struct RowStats {
  float mean, rstd;
};

template <class T, int kPer, bool kCentred, bool kResidual>
class GradRows {
 public:
  using Stages = RowStages<T, kPer, kResidual ? 3 : 2>;
  static constexpr int kSize = Stages::kSize, kSums = kCentred ? 2 : 1;

  __device__ GradRows(const GradArgs& a, const NormLane& at, void* memory)
      : a_(a), stages_(memory, at, a.h), w_(a.b.w, a.w, stages_) {}

  __device__ void fetch(int stage, i64 row) {
    const bool there = row < a_.rows;
    stages_.fetch(stage, 0, static_cast<const T*>(a_.b.dy), row, there);
    stages_.fetch(stage, 1, static_cast<const T*>(a_.b.x), row, there);
    if constexpr (kResidual) stages_.fetch(stage, 2, static_cast<const T*>(a_.b.dres), row, there);
    __pipeline_commit();
  }
  __device__ RowStats stats(i64 row) const {
    if (row >= a_.rows) return {0, 0};
    return {kCentred ? a_.b.mean[row] : 0, a_.b.rstd[row]};
  }

  // Adds to dw and dc; sums: of g n, and of g.
  __device__ void add(int stage, const RowStats& row, float (&sums)[kSums]) {
#pragma unroll
    for (int k = 0; k < Stages::kPacks; ++k) {
      float dy[kSize], x[kSize], w[kSize];
      stages_.get(stage, 0, k, dy), stages_.get(stage, 1, k, x), w_.get(stages_, k, w);
#pragma unroll
      for (int e = 0; e < kSize; ++e) {
        const float n = (x[e] - row.mean) * row.rstd, g = dy[e] * w[e];
        dw_[k * kSize + e] += dy[e] * n;
        sums[0] += g * n;
        if constexpr (kCentred) dc_[k * kSize + e] += dy[e], sums[1] += g;
      }
    }
  }

  // means: of g n, and of g.
  __device__ void store(int stage, i64 row, const RowStats& at, const float (&means)[kSums]) {
#pragma unroll
    for (int k = 0; k < Stages::kPacks; ++k) {
      if (!stages_.has(k)) continue;
      float dy[kSize], x[kSize], w[kSize], dres[kSize] = {};
      stages_.get(stage, 0, k, dy), stages_.get(stage, 1, k, x), w_.get(stages_, k, w);
      if constexpr (kResidual) stages_.get(stage, 2, k, dres);
      Vec<T> dx;
#pragma unroll
      for (int e = 0; e < kSize; ++e) {
        const float n = (x[e] - at.mean) * at.rstd, g = dy[e] * w[e];
        dx.x[e] = narrow<T>(dres[e] + at.rstd * (g - (kCentred ? means[kSums - 1] : 0) - n * means[0]));
      }
      *reinterpret_cast<Vec<T>*>(static_cast<T*>(a_.b.dx) + row * a_.h + stages_.column(k)) = dx;
    }
  }

  __device__ void finish(const NormLane& at, float* memory) {
    __pipeline_wait_prior(0);
    float* out = a_.b.workspace + i64(blockIdx.x) * a_.h;
    store_sums(stages_, at, dw_, memory, out, a_.h);
    if constexpr (kCentred) store_sums(stages_, at, dc_, memory, out + i64(gridDim.x) * a_.h, a_.h);
  }

 private:
  const GradArgs& a_;
  Stages stages_;
  RowWeights<Stages, kPer> w_;
  float dw_[kPer] = {}, dc_[kCentred ? kPer : 1] = {};
};

template <class T, int kPer, bool kCentred, bool kResidual>
__global__ void __launch_bounds__(kMostThreads<T, kPer>) grad_kernel(const GradArgs a) {
  using Rows = GradRows<T, kPer, kCentred, kResidual>;
  constexpr int kAhead = Rows::Stages::kDepth - 1, kSums = Rows::kSums;
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ float parts[RowSums::kShared];
  const NormLane at(a.lanes);
  Rows rows(a, at, memory);
  RowSums sum(parts, a.lanes);
  const i64 step = i64(gridDim.x) * at.groups;
  i64 row = i64(blockIdx.x) * at.groups + at.group;
  for (int s = 0; s < kAhead; ++s) rows.fetch(s, row + s * step);
  RowStats stats = rows.stats(row);
  for (int stage = 0; row - at.group < a.rows; row += step, stage = stage == kAhead ? 0 : stage + 1) {
    rows.fetch(stage == 0 ? kAhead : stage - 1, row + kAhead * step);
    const RowStats next = rows.stats(row + step);
    __pipeline_wait_prior(kAhead);
    float sums[kSums] = {};
    rows.add(stage, stats, sums);
    sum(sums);
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums[i] /= float(a.h);
    if (row < a.rows) rows.store(stage, row, stats, sums);
    stats = next;
  }
  rows.finish(at, reinterpret_cast<float*>(memory));
}

// Rows of any size: a block each, element by element; the sums in the workspace.
template <class T, bool kCentred>
__global__ void __launch_bounds__(512) any_grad_kernel(const GradArgs a) {
  __shared__ float parts[RowSums::kShared];
  RowSums sum(parts, a.lanes);
  float *dw = a.b.workspace + i64(blockIdx.x) * a.h, *dc = dw + i64(gridDim.x) * a.h;
  for (int i = threadIdx.x; i < a.h; i += blockDim.x) {
    dw[i] = 0;
    if (kCentred) dc[i] = 0;
  }
  for (i64 row = blockIdx.x; row < a.rows; row += gridDim.x) {
    const T *dy = static_cast<const T*>(a.b.dy) + row * a.h, *x = static_cast<const T*>(a.b.x) + row * a.h;
    const T* dres = static_cast<const T*>(a.b.dres);
    T* dx = static_cast<T*>(a.b.dx) + row * a.h;
    const float mean = kCentred ? a.b.mean[row] : 0, rstd = a.b.rstd[row];
    float sums[2] = {}, w[1];
    for (int i = threadIdx.x; i < a.h; i += blockDim.x) {
      load_widened(a.b.w, a.w, i, w);
      const float d = widen(dy[i]), n = (widen(x[i]) - mean) * rstd, g = d * w[0];
      dw[i] += d * n;
      if (kCentred) dc[i] += d, sums[1] += g;
      sums[0] += g * n;
    }
    sum(sums);
    for (int i = threadIdx.x; i < a.h; i += blockDim.x) {
      load_widened(a.b.w, a.w, i, w);
      const float n = (widen(x[i]) - mean) * rstd, g = widen(dy[i]) * w[0];
      const float more = dres ? widen(dres[row * a.h + i]) : 0.0f;
      dx[i] = narrow<T>(more + rstd * (g - sums[1] / float(a.h) - n * (sums[0] / float(a.h))));
    }
  }
}

// 32 columns a block: each of 32 warps adds every 32nd block's sums, in order, then their sums are added in order.
// blockIdx.y: dw or dc.
__global__ void __launch_bounds__(1024)
    add_blocks_kernel(const float* sums, int blocks, i64 h, DType dtype, void* dw, void* dc) {
  __shared__ float parts[32][33];
  const i64 column = i64(blockIdx.x) * 32 + threadIdx.x;
  sums += blockIdx.y * (blocks * h);
  float sum = 0;
  if (column < h) {
#pragma unroll 8
    for (int b = threadIdx.y; b < blocks; b += 32) sum += sums[b * h + column];
  }
  parts[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = warp_sum(parts[threadIdx.x][threadIdx.y]);
  const i64 to = i64(blockIdx.x) * 32 + threadIdx.y;
  if (threadIdx.x != 0 || to >= h) return;
  void* out = blockIdx.y == 0 ? dw : dc;
  if (dtype == DType::f32)
    static_cast<float*>(out)[to] = sum;
  else
    static_cast<__nv_bfloat16*>(out)[to] = __nv_bfloat16(sum);
}

// f(kernel, bytes of shared memory).
template <class T, bool kCentred, bool kResidual, class F>
void with_sized_kernel(const NormBlock& b, F&& f) {
  constexpr int kInputs = kResidual ? 3 : 2;
  if (b.per == 8) return f(grad_kernel<T, 8, kCentred, kResidual>, RowStages<T, 8, kInputs>::bytes(b.threads));
  if (b.per == 16) return f(grad_kernel<T, 16, kCentred, kResidual>, RowStages<T, 16, kInputs>::bytes(b.threads));
  if (b.per == 32) return f(grad_kernel<T, 32, kCentred, kResidual>, RowStages<T, 32, kInputs>::bytes(b.threads));
  f(any_grad_kernel<T, kCentred>, 0);
}
template <class F>
void with_kernel(const NormGradLaunch& l, F&& f) {
  dispatch_activation(l.shape.x, [&]<class T>() {
    if (l.shape.centred && l.residual) return with_sized_kernel<T, true, true>(l.block, f);
    if (l.shape.centred) return with_sized_kernel<T, true, false>(l.block, f);
    if (l.residual) return with_sized_kernel<T, false, true>(l.block, f);
    with_sized_kernel<T, false, false>(l.block, f);
  });
}

}  // namespace

NormGradLaunch plan_norm_grad(const NormShape& s, DType dw, bool residual, const NormDevice& device) {
  constexpr int kThreads = 1024;  // a multiprocessor: more add more sums to write, and no speed
  const NormBlock b = norm_block(s, residual ? 3 : 2, device);
  const i64 groups = b.threads / b.lanes;
  NormGradLaunch l{s, b, dw, residual, 0, 0};
  with_kernel(l, [&](auto* kernel, int shared) {
    l.blocks = resident_blocks(kernel, b, shared, device.sms, kThreads, (s.rows + groups - 1) / groups);
  });
  l.workspace = i64(s.centred ? 2 : 1) * l.blocks * s.h * i64(sizeof(float));
  return l;
}

void launch(const NormGradLaunch& l, const NormGradBuffers& buffers, cudaStream_t stream) {
  const NormShape& s = l.shape;
  const NormBlock& b = l.block;
  const GradArgs args{buffers, s.w, s.rows, int(s.h), b.lanes};
  with_kernel(l, [&](auto* kernel, int shared) {
    kernel<<<l.blocks, b.threads, size_t(shared), stream>>>(args);
    check_launch("[rms_norm_grad, layer_norm_grad] launch");
  });
  const dim3 grid(unsigned(blocks_for(s.h, 32)), s.centred ? 2 : 1);
  add_blocks_kernel<<<grid, dim3(32, 32), 0, stream>>>(buffers.workspace, l.blocks, s.h, l.dw, buffers.dw, buffers.dc);
  check_launch("[rms_norm_grad, layer_norm_grad] launch");
}

}  // namespace megalith::cuda
