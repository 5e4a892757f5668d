// With n = x rstd (LayerNorm: (x - mean) rstd) and g = dy w:
//   dx = dres + rstd (g - mean(g) - n mean(g n)), mean(g) of LayerNorm only;  dw = sum of dy n,  dc = sum of dy.
// With `again` also y, from what is there.
// One pass over memory: persistent blocks go through the rows, the next rows on their way meanwhile, and keep the sums
// of their rows in registers; at the end each block writes its sums, and a second kernel adds the blocks' in order.
#include "exec/cuda/kernels/norm.cuh"

namespace megalith::cuda {

namespace {

struct GradArgs {
  NormGradBuffers b;
  DType w;
  int rows, h, lanes;
  float part;  // 1 / h
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

struct RowStats {
  float mean, rstd;
};

// With r = dy rstd:  dw += r (x - mean),  dx = dres + r w - base - (x - mean) slope,  where base = mean(r w) and
// slope = rstd^2 mean(r w (x - mean)).
template <class T, int kPer, bool kCentred, bool kResidual, bool kAgain>
class GradRows {
 public:
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
    if constexpr (kAgain) store_again(stage, row, at);
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
      stages_.put(to, k, dx);
    }
  }

  __device__ void finish(const NormLane& at, float* memory) {
    __pipeline_wait_prior(0);
    float* out = a_.b.workspace + i64(blockIdx.x) * a_.h;
    store_sums(stages_, at, dw_, memory, out, a_.h);
    if constexpr (kCentred) store_sums(stages_, at, dc_, memory, out + i64(gridDim.x) * a_.h, a_.h);
  }

 private:
  // A loop of its own: together with dx it would need more registers than there are.
  __device__ void store_again(int stage, int row, const RowStats& at) const {
    T* to = static_cast<T*>(a_.b.y) + (i64(row) * a_.h + stages_.column(0));
#pragma unroll
    for (int k = 0; k < Stages::kPacks; ++k) {
      if (!stages_.has(k)) continue;
      float x[kSize], w[kSize], c[kSize] = {}, y[kSize];
      centred(stage, k, at.mean, x), w_.get(k, w);
      if constexpr (kCentred) unpack(load_pack<kSize>(static_cast<const T*>(a_.b.c) + stages_.column(k)), c);
#pragma unroll
      for (int e = 0; e < kSize; ++e) y[e] = normed(kHeldX ? x_[k * kSize + e] : x[e], at.rstd, w[e], c[e]);
      stages_.put(to, k, y);
    }
  }

  // Between add() and store(): what registers have room for.
  static constexpr bool kHeldX = kPer <= 16, kHeldRw = kPer <= 16 || (sizeof(T) == 2 && (kPer == 24 || !kCentred));

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
  float dw_[kPer] = {}, dc_[kCentred ? kPer : 1] = {};
  float x_[kHeldX ? kPer : 1], rw_[kHeldRw ? kPer : 1];
};

template <class T, int kPer, bool kPart, bool kCentred, bool kResidual, bool kAgain>
__global__ void __launch_bounds__(norm_threads(kPer, sizeof(T)), kPer == 32 ? 1 : 2) grad_kernel(const GradArgs a) {
  using Rows = GradRows<T, kPer, kCentred, kResidual, kAgain>;
  using Sums = RowSums<kPart, norm_threads(kPer, sizeof(T)) / 32>;
  constexpr int kAhead = Rows::Stages::kDepth - 1;
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ typename Sums::Shared parts;
  const NormLane at(a.lanes);
  Rows rows(a, at, memory);
  Sums sum(parts, a.lanes);
  const int step = gridDim.x * at.groups;
  int row = blockIdx.x * at.groups + at.group;
  for (int s = 0; s < kAhead; ++s) rows.fetch(s, row + s * step);
  RowStats stats = rows.stats(row);
  for (int stage = 0; row - at.group < a.rows; row += step, stage = stage == kAhead ? 0 : stage + 1) {
    rows.fetch(stage == 0 ? kAhead : stage - 1, row + kAhead * step);
    const RowStats next = rows.stats(row + step);
    __pipeline_wait_prior(kAhead);
    float sums[Rows::kSums] = {};
    if (row < a.rows) rows.add(stage, stats, sums);
    sum(sums);
    if (row < a.rows) rows.store(stage, row, stats, sums);
    stats = next;
  }
  rows.finish(at, reinterpret_cast<float*>(memory));
}

// Rows of any size: a block each, element by element; the sums in the workspace.
template <class T, bool kCentred>
__global__ void __launch_bounds__(512) any_grad_kernel(const GradArgs a) {
  using Sums = RowSums<false, 16>;
  __shared__ Sums::Shared parts;
  Sums sum(parts, a.lanes);
  float *dw = a.b.workspace + i64(blockIdx.x) * a.h, *dc = dw + i64(gridDim.x) * a.h;
  for (int i = threadIdx.x; i < a.h; i += blockDim.x) {
    dw[i] = 0;
    if (kCentred) dc[i] = 0;
  }
  for (int row = blockIdx.x; row < a.rows; row += gridDim.x) {
    const i64 at = i64(row) * a.h;
    const T *dy = static_cast<const T*>(a.b.dy) + at, *x = static_cast<const T*>(a.b.x) + at;
    const T* dres = static_cast<const T*>(a.b.dres);
    T *dx = static_cast<T*>(a.b.dx) + at, *y = static_cast<T*>(a.b.y);
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
      const float centred = widen(x[i]) - mean, n = centred * rstd, g = widen(dy[i]) * w[0];
      const float more = dres ? widen(dres[at + i]) : 0.0f;
      if (y) {
        float c[1] = {};
        if constexpr (kCentred) load_widened(a.b.c, a.w, i, c);
        y[at + i] = narrow<T>(normed(centred, rstd, w[0], c[0]));
      }
      dx[i] = narrow<T>(more + rstd * (g - sums[1] * a.part - n * (sums[0] * a.part)));
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
template <class T, bool kCentred, bool kResidual, bool kAgain, class F>
void with_typed_kernel(const NormBlock& b, F&& f) {
  with_norm_block(b, [&]<int kPer, bool kPart>() {
    if constexpr (kPer == 0) {
      f(any_grad_kernel<T, kCentred>, 0);
    } else {
      using Stages = typename GradRows<T, kPer, kCentred, kResidual, kAgain>::Stages;
      f(grad_kernel<T, kPer, kPart, kCentred, kResidual, kAgain>, b.threads * Stages::kBytes);
    }
  });
}
template <class F>
void with_kernel(const NormGradLaunch& l, F&& f) {
  const auto residual = [&]<class T, bool kCentred, bool kResidual>() {
    if (l.form.again) return with_typed_kernel<T, kCentred, kResidual, true>(l.block, f);
    with_typed_kernel<T, kCentred, kResidual, false>(l.block, f);
  };
  const auto centred = [&]<class T, bool kCentred>() {
    if (l.form.residual) return residual.template operator()<T, kCentred, true>();
    residual.template operator()<T, kCentred, false>();
  };
  dispatch_activation(l.shape.x, [&]<class T>() {
    if (l.shape.centred) return centred.template operator()<T, true>();
    centred.template operator()<T, false>();
  });
}

}  // namespace

// The same blocks for all forms, so that dw has the same bits.
NormGradLaunch plan_norm_grad(const NormShape& s, const NormGradForm& form, const NormDevice& device) {
  constexpr int kInputs = 3;
  NormGradLaunch l{s, norm_block(s, kInputs, device), form, 0, 0};
  for (int way = 0; way < 4; ++way) {
    l.form.residual = way & 1, l.form.again = way & 2;
    with_kernel(l, [&](auto* kernel, int shared) {
      const int blocks = resident_blocks(kernel, l.block, shared, device, s.rows);
      l.blocks = l.blocks == 0 ? blocks : std::min(l.blocks, blocks);
    });
  }
  l.form = form;
  l.workspace = i64(s.centred ? 2 : 1) * l.blocks * s.h * i64(sizeof(float));
  return l;
}

void launch(const NormGradLaunch& l, const NormGradBuffers& buffers, cudaStream_t stream) {
  const NormShape& s = l.shape;
  const GradArgs args{buffers, s.w, int(s.rows), int(s.h), l.block.lanes, 1 / float(s.h)};
  with_kernel(l, [&](auto* kernel, int shared) {
    kernel<<<l.blocks, l.block.threads, size_t(shared), stream>>>(args);
    check_launch("[rms_norm_grad, layer_norm_grad] launch");
  });
  const dim3 grid(unsigned(blocks_for(s.h, 32)), s.centred ? 2 : 1);
  add_blocks_kernel<<<grid, dim3(32, 32), 0, stream>>>(buffers.workspace, l.blocks, s.h, l.form.dw, buffers.dw,
                                                       buffers.dc);
  check_launch("[rms_norm_grad, layer_norm_grad] launch");
}

}  // namespace megalith::cuda
