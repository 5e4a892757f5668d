// Casts a tensor with one scale tile by tile, if the transpose of its codes is needed.
#pragma once
#include "exec/cuda/kernels/quantize/quantize.h"

namespace megalith::cuda {

// Rows of codes must be multiples of 8 bytes, columns of 16.
inline bool tensor_fits_tiles(const CastLaunch& l) {
  return l.x != DType::f64 && l.columns % 8 == 0 && l.rows % 16 == 0;
}
void launch_tensor_tiles(const CastLaunch& l, const CastPointers& p, cudaStream_t stream);

}  // namespace megalith::cuda
