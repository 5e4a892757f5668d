// NVIDIA GPUs, one a rank, as a backend of the training loop.
#pragma once
#include <string>

#include "comm/ranks.h"
#include "plan/interpreter.h"

namespace megalith {

// To be called before anything may start CUDA's driver, libraries for messages between ranks included.
void settle_cuda_driver();
// How many GPUs there are; 0 too where the driver is missing or the build has no CUDA.
int cuda_device_count();
// In a few words, why there are none; empty if there are.
std::string why_no_cuda();

struct CudaOptions {
  int device = 0;               // ordinal, of a rank alone; several take their place on their host
  bool sees_own = false;        // and no other one: it is number 0
  bool is_shared = false;       // with a standby process that needs as much memory outside its plan as this one
  std::string gemm_cache = {};  // file of chosen matrix-product algorithms; empty: nothing is measured
  Ranks* ranks = nullptr;       // whom plans for several ranks talk to
  double timeout_seconds = JoinOptions{}.timeout_seconds;  // without progress: then this rank ends, saying in what
};

// Error if there is no such device, or no NCCL for several ranks. So is a build without CUDA; the message says how to
// get it.
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options);

}  // namespace megalith
