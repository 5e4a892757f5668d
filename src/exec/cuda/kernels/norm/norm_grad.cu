// With n = x rstd (LayerNorm: (x - mean) rstd) and g = dy w:
//   dx = dres + rstd (g - mean(g) - n mean(g n)), mean(g) of LayerNorm only;  dw = sum of dy n,  dc = sum of dy.
// With `with_output` it also writes y, and with `bias` the sum of dx. It makes one pass over memory: persistent
// blocks loop over the rows, and load the next rows meanwhile. They keep the sums of their rows in registers and
// write them at the end. A second kernel adds the sums of the blocks in order.
#include "exec/cuda/kernels/norm/norm_grad_rows.cuh"
#include "exec/cuda/kernels/norm/norm_grad_sums.cuh"

namespace megalith::cuda {

namespace {

template <class T, int kPer, bool kPart, class Form>
__global__ void __launch_bounds__(norm_threads(kPer, sizeof(T)), kPer == 32 ? 1 : 2) grad_kernel(const GradArgs a) {
  using Rows = GradRows<T, kPer, Form>;
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

// Rows of any size: a block for each, element by element, with the sums in the workspace.
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

// f(kernel, bytes of shared memory), for blocks of these forms. 24 elements a thread is a form of the forward only.
// With f32, or more than 16 elements, there are no registers for the sums of a bias.
template <class T, class Form, class F>
void with_typed_kernel(const NormBlock& b, F&& f) {
  with_norm_block(b, [&]<int kPer, bool kPart>() {
    constexpr bool kFits = !Form::kBias || (kPer == 16 && sizeof(T) == 2);
    if constexpr (kFits && (kPer == 16 || kPer == 32))
      f(grad_kernel<T, kPer, kPart, Form>, b.threads * GradRows<T, kPer, Form>::Stages::kBytes);
    else if constexpr (kFits && kPer == 0)
      f(any_grad_kernel<T, Form::kCentred>, 0);
    else
      fail("[rms_norm_grad, layer_norm_grad] no kernel for {} elements a thread, bias {}", kPer, Form::kBias);
  });
}
template <class F>
void with_kernel(const NormGradLaunch& l, F&& f) {
  // Calls g with a bool as a constant.
  const auto constant = [](bool value, auto&& g) {
    value ? g(std::bool_constant<true>{}) : g(std::bool_constant<false>{});
  };
  dispatch_activation(l.shape.x, [&]<class T>() {
    constant(l.shape.centred, [&](auto centred) {
      constant(l.form.residual, [&](auto residual) {
        constant(l.form.with_output, [&](auto with_output) {
          constant(l.form.bias, [&](auto bias) {
            with_typed_kernel<T, GradForm<centred(), residual(), with_output(), bias()>>(l.block, f);
          });
        });
      });
    });
  });
}

__global__ void __launch_bounds__(1024) add_blocks_kernel(const float* sums, int blocks, i64 h, SumsTo all) {
  add_blocks(sums, blocks, h, all);
}

}  // namespace

// All forms have the same blocks, so dw has the same bits.
NormGradLaunch plan_norm_grad(const NormShape& s, const NormGradForm& form, const NormDevice& device) {
  NormGradLaunch l{s, norm_grad_block(s, device), form, 0, 0, norm_ring(s, device)};
  if (l.ring.packs > 0) {
    l.blocks = norm_ring_blocks(s, l.ring, device);
    l.workspace = norm_grad_workspace(s, l.sums(), l.blocks);
    return l;
  }
  for (int way = 0; way < 8; ++way) {
    l.form.residual = way & 1, l.form.with_output = way & 2, l.form.bias = way & 4;
    if (l.form.bias && !adds_up_bias(s, device)) continue;
    with_kernel(l, [&](auto* kernel, int shared) {
      const int blocks = resident_blocks(kernel, l.block, shared, device, s.rows);
      l.blocks = l.blocks == 0 ? blocks : std::min(l.blocks, blocks);
    });
  }
  l.form = form;
  l.workspace = norm_grad_workspace(s, l.sums(), l.blocks);
  return l;
}

void launch(const NormGradLaunch& l, const NormGradBuffers& b, cudaStream_t stream) {
  if (l.ring.packs > 0) return launch_hopper(l, b, stream);
  const NormShape& s = l.shape;
  const GradArgs args{b, s.w, int(s.rows), int(s.h), l.block.lanes, 1 / float(s.h)};
  with_kernel(l, [&](auto* kernel, int shared) {
    kernel<<<l.blocks, l.block.threads, size_t(shared), stream>>>(args);
    check_launch("[rms_norm_grad, layer_norm_grad] launch");
  });
  add_blocks_kernel<<<dim3(unsigned(blocks_for(s.h, 32)), unsigned(l.sums())), dim3(32, 32), 0, stream>>>(
      b.workspace, l.blocks, s.h, sums_to(l, b));
  check_launch("[rms_norm_grad, layer_norm_grad] launch");
}

}  // namespace megalith::cuda
