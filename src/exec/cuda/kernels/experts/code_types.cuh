// fp8 codes as types of CUDA.
#pragma once
#include <cuda_fp8.h>

#include "exec/cuda/launch.cuh"

namespace megalith::cuda {

// Calls f<T>() with the type of the codes.
template <class F>
void dispatch_codes(DType codes, F&& f) {
  if (codes == DType::f8_e5m2)
    f.template operator()<__nv_fp8_e5m2>();
  else
    f.template operator()<__nv_fp8_e4m3>();
}

}  // namespace megalith::cuda
