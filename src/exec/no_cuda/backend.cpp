// The backend of a build without CUDA: it reports that there is none.
#include "exec/cuda/backend.h"

namespace megalith {

void settle_cuda_driver() {}

int cuda_device_count() { return 0; }

std::string why_no_cuda() { return "this build has no CUDA"; }

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions&) {
  fail(
      "--device cuda: this build has no CUDA: install the CUDA toolkit (nvcc), cuDNN and build again, or --device cpu");
}

}  // namespace megalith
