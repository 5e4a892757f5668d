// RMSNorm and LayerNorm over rows of h elements. x, dy, y, dx and dres of type `x` (f32, bf16), the weights w and c of
// type `w` (f32, bf16), statistics f32. y may be x; dx may be dy, x or dres; with both as results, y x and dx not.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda_needs/norm_shape.h"

namespace megalith::cuda {

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

// The backward: dx, and dw, dc and db, added up by `blocks` blocks. Each has rows of its own in the workspace, which a
// second kernel adds up in order.
struct NormGradForm {
  DType dw;
  bool residual;     // dx = dres + the gradient through the norm
  bool with_output;  // y once more, to the bit
  bool bias;         // also db, the sum of dx, in f32; where adds_up_bias()
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
NormGradLaunch plan_norm_grad(const NormShape& s, const NormGradForm& form, const NormDevice& device);

struct NormGradBuffers {
  const void *dy = nullptr, *x = nullptr, *w = nullptr;
  const float *mean = nullptr, *rstd = nullptr;
  const void *dres = nullptr, *c = nullptr;  // of `residual`; of LayerNorm with `with_output`
  void *dx = nullptr, *dw = nullptr, *dc = nullptr, *y = nullptr, *db = nullptr;
  float* workspace = nullptr;
};
void launch(const NormGradLaunch& l, const NormGradBuffers& b, cudaStream_t stream);
void launch_hopper(const NormGradLaunch& l, const NormGradBuffers& b, cudaStream_t stream);

}  // namespace megalith::cuda
