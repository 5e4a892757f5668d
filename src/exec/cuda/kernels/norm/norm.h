// RMSNorm and LayerNorm over rows of h elements. x, dy, y, dx and dres of type `x` (f32, bf16), the weights w and c of
// type `w` (f32, bf16), statistics f32. y may be x; dx may be dy, x or dres; with both as results, y x and dx not.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct NormShape {
  static constexpr i64 kMostRows = (i64{1} << 31) - (i64{1} << 24), kMostColumns = i64{1} << 30;
  DType x, w;
  bool centred;  // LayerNorm
  i64 rows, h;
};

// Threads and registers by the size of a row: `per` elements a thread, 0 for the kernel of any size; `lanes` threads a
// row, a power of two below 32 or so many whole warps.
struct NormBlock {
  int per, lanes, threads;
};

// The most threads of a block, by `per` and an element's bytes.
constexpr int norm_threads(int per, int element) { return per == 32 && element == 2 ? 512 : 256; }
// How many rows a thread has on their way to shared memory, at so many bytes of a row.
constexpr int norm_depth(int bytes) { return bytes <= 128 ? 3 : 2; }

// What a launch may use of the GPU. Of the shared memory the kernels keep a little for sums.
constexpr i64 kNormStaticShared = 1024;
struct NormDevice {
  int sms;
  i64 shared;  // bytes a block may ask for
  int capability;
};

// `inputs`: how many tensors of rows are read.
NormBlock norm_block(const NormShape& s, int inputs, const NormDevice& device);

struct NormLaunch {
  NormShape shape;
  NormBlock block;
  float eps;
  int blocks;
};
NormLaunch plan_norm(const NormShape& s, double eps, const NormDevice& device);

struct NormBuffers {
  const void *x, *w, *c;  // c, mean: of LayerNorm
  void* y;
  float *mean, *rstd;
};
void launch(const NormLaunch& l, const NormBuffers& b, cudaStream_t stream);

// How norm_grad_hopper.cu goes through the rows: groups of `lanes` threads, so that each thread has one pack of 8
// elements of two rows, or two packs of one row.
struct NormRing {
  static constexpr int kThreads = 512, kDepth = 3;  // of a block, at most; stages of a group
  static constexpr int kMostGroups = 5;             // of 96 threads, at 520 to 768 elements a row
  static constexpr int most_warps(int packs) { return packs == 1 ? 8 : 16; }  // of a group
  int packs = 0, lanes = 0, groups = 0;                                       // packs 0: the rows are norm_grad.cu's
  int rows() const { return packs == 1 ? 2 : 1; }
  // Bytes for the form with most inputs; that is enough for the sums, too. At most 144 KiB.
  int shared(i64 h) const { return int(groups * kDepth * 3 * rows() * h * 2); }
};
NormRing norm_ring(const NormShape& s, const NormDevice& device);

// The backward: dx, and dw, dc and db added up by `blocks` blocks, each into rows of its own of the workspace, which a
// second kernel adds up in order.
struct NormGradForm {
  DType dw;
  bool residual;  // dx = dres + the gradient through the norm
  bool again;     // y once more, to the bit
  bool bias;      // also db, the sum of dx, in f32; where adds_up_bias()
};
struct NormGradLaunch {
  NormShape shape;
  NormBlock block;
  NormGradForm form;
  int blocks;
  i64 workspace;  // bytes
  NormRing ring;
  int sums() const { return 1 + shape.centred + form.bias; }
};
// Whether the gradient has registers for it.
bool adds_up_bias(const NormShape& s, const NormDevice& device);
NormGradLaunch plan_norm_grad(const NormShape& s, const NormGradForm& form, const NormDevice& device);

struct NormGradBuffers {
  const void *dy = nullptr, *x = nullptr, *w = nullptr;
  const float *mean = nullptr, *rstd = nullptr;
  const void *dres = nullptr, *c = nullptr;  // of `residual`; of LayerNorm with `again`
  void *dx = nullptr, *dw = nullptr, *dc = nullptr, *y = nullptr, *db = nullptr;
  float* workspace = nullptr;
};
void launch(const NormGradLaunch& l, const NormGradBuffers& b, cudaStream_t stream);
void launch_hopper(const NormGradLaunch& l, const NormGradBuffers& b, cudaStream_t stream);

}  // namespace megalith::cuda
