// NVIDIA GPUs as a backend of the training loop, one a rank.
#pragma once
#include <string>

#include "comm/ranks.h"
#include "plan/interpreter.h"

namespace megalith {

// Must be called before anything may start CUDA's driver. Libraries for messages between ranks may start it too.
void settle_cuda_driver();
// The number of GPUs. 0 if there is none, if the driver is missing, or if the build has no CUDA.
int cuda_device_count();
// The reason why there are no GPUs, in a few words; empty if there are some.
std::string why_no_cuda();

struct CudaOptions {
  int device = 0;                // ordinal, for a single rank; several ranks take theirs by their place on the host
  bool sees_own = false;         // the process sees no other GPU, so its GPU is number 0
  bool is_shared = false;        // with a standby process, which needs as much memory outside its plan as this one
  std::string gemm_cache = {};   // file of chosen matrix-product algorithms; empty: nothing is measured
  Ranks* ranks = nullptr;        // for plans for several ranks
  bool symmetric_memory = true;  // collectives of GPUs with NVLink by kernels that access each other's memory
  // limit without progress: then this rank ends, and names what it waited for
  double timeout_seconds = JoinOptions{}.timeout_seconds;
};

// Error if there is no such device, no NCCL for several ranks, or no CUDA in the build. Then the message says how to
// get it.
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options);

}  // namespace megalith
