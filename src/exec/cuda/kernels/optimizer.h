// AdamW and momentum SGD on many parameters in one launch; formulas and layouts in ops/update.h. State is f32; the copy
// in compute precision, if there is one, bf16 or f32. Pointers must be multiples of 16 bytes.
#pragma once
#include <span>

#include "exec/cuda/device.h"

namespace megalith::cuda {

struct UpdateItem {
  float* w;
  const float* g;
  float *m, *v;  // v: nullptr with SGD
  void* copy;    // nullptr: none
  i64 n;
  bool decay;
};

// On the device, f64; what is where in them as ops/update.h has it.
enum { kLrAt, kWeightDecayAt, kCorrection1At, kCorrection2At };  // hyper
enum { kFactorAt = 2, kCountsAt };                               // scalars
struct UpdateNumbers {
  const double *scalars, *hyper;
};

struct AdamWLaunch {
  double beta1, beta2, eps;
  DType copy = DType::bf16;  // of all items that have one
};
void launch(const AdamWLaunch& l, std::span<const UpdateItem> items, UpdateNumbers numbers, cudaStream_t stream);

struct SgdLaunch {
  double momentum;
  DType copy = DType::bf16;
};
void launch(const SgdLaunch& l, std::span<const UpdateItem> items, UpdateNumbers numbers, cudaStream_t stream);

}  // namespace megalith::cuda
