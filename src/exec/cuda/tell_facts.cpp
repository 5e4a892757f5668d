#include "exec/cuda/tell_facts.h"

#include <cublasLt.h>

#include "exec/cuda/kernels/attention/cudnn_attention.h"
#include "exec/cuda/products/gemm.h"

namespace megalith::cuda {

void tell(Device& device, DeviceFacts& facts) {
  int driver = 0, runtime = 0;
  check_cuda(cudaDriverGetVersion(&driver), "reading the driver's version");
  check_cuda(cudaRuntimeGetVersion(&runtime), "reading CUDA's version");
  facts.device = device.name();
  facts.recorded = fmt::format("driver for CUDA {}, CUDA {}, cuBLASLt {}, cuDNN {}", driver, runtime,
                               cublasLtGetVersion(), cudnn_version());
  facts.sms = device.sms(), facts.shared_memory = device.shared_memory(), facts.capability = device.capability();
  for (const auto& [problem, gemm] : device.gemms().products)
    facts.product_workspaces[problem] = gemm->possible() ? gemm->workspace() : -1;
  for (const auto& [problem, found] : device.attention_plans().all())
    facts.attention_workspaces[to_string(problem)] = found.plan ? found.plan->workspace() : -1;
}

}  // namespace megalith::cuda
