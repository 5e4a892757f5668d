// One NVIDIA GPU as a backend of the training loop.
#pragma once
#include <string>

#include "plan/interpreter.h"

namespace megalith {

// How many GPUs there are; 0 too where the driver is missing or the build has no CUDA.
int cuda_device_count();
// In a few words, why there are none; empty if there are.
std::string why_no_cuda();

struct CudaOptions {
  int device = 0;          // ordinal
  std::string gemm_cache;  // file of chosen matrix-product algorithms; empty: choose anew each time
};

// Error if there is no such device, or if the build has no CUDA (the message says how to get it).
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options);

}  // namespace megalith
