// RMSNorm and LayerNorm over rows of h elements. x, dy, y, dx and dres have type `x` (f32, bf16). The weights w and c
// have type `w` (f32, bf16). Statistics are f32. y may be x; dx may be dy, x or dres. If both are results, y may be x
// and dx may not.
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
  const void *x, *w, *c;  // c and mean: for LayerNorm
  void* y;                // null: only the statistics are wanted
  float *mean, *rstd;
  float* amax = nullptr;  // of y, if wanted: of RMSNorm by packs
};
void launch(const NormLaunch& l, const NormBuffers& b, cudaStream_t stream);

// The backward: dx, and dw, dc and db. Each of `blocks` blocks has its own rows of sums in the workspace; a second
// kernel adds them in order.
struct NormGradForm {
  DType dw;
  bool residual;            // dx = dres + the gradient through the norm
  bool with_output;         // also writes y, to the bit
  bool bias;                // also db, the sum of dx, in f32, if adds_up_bias()
  bool gives_amax = false;  // of dx; for RMSNorm on Hopper
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
  const void *dres = nullptr, *c = nullptr;  // for `residual`; for LayerNorm with `with_output`
  void *dx = nullptr, *dw = nullptr, *dc = nullptr, *y = nullptr, *db = nullptr;
  float* amax = nullptr;
  float* workspace = nullptr;
};
void launch(const NormGradLaunch& l, const NormGradBuffers& b, cudaStream_t stream);
void launch_hopper(const NormGradLaunch& l, const NormGradBuffers& b, cudaStream_t stream);

}  // namespace megalith::cuda
