#include "exec/cuda/device.h"

#include <cublasLt.h>
#include <cudnn.h>

#include <cstdlib>

#include "base/log.h"
#include "exec/cuda/kernels/attention/cudnn_attention.h"
#include "exec/cuda/products/gemm.h"
#include "exec/cuda/products/gemm_choices.h"

namespace megalith::cuda {

void check_cuda(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  fail("{}: CUDA error {}: {}", what, int(status), cudaGetErrorString(status));
}

// Streams share the GPU's hardware queues, 8 or the value of this variable (scripts for Megatron-LM set 1). A transfer
// that waits for another rank blocks everything after it in its queue. So each stream should have its own queue.
void settle_driver() {
  constexpr const char *kName = "CUDA_DEVICE_MAX_CONNECTIONS", *kQueues = "32";
  const char* given = std::getenv(kName);
  if (given && std::string_view(given) != kQueues)
    log::info("{}={} of the environment is replaced by {}: transfers need separate queues on a GPU", kName, given,
              kQueues);
  setenv(kName, kQueues, 1);
}

cudaError_t count_devices(int& devices) {
  settle_driver();
  return cudaGetDeviceCount(&devices);
}

static int attribute(int ordinal, cudaDeviceAttr which) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, ordinal), "reading the GPU's properties");
  return value;
}

std::string Device::bus_place() const {
  char text[32] = {};
  check_cuda(cudaDeviceGetPCIBusId(text, sizeof text, ordinal_), "reading the GPU's properties");
  return text;
}

Device::Device(int ordinal, const std::string& gemm_cache) : ordinal_(ordinal) {
  int devices = 0;
  check_cuda(count_devices(devices), "looking for GPUs");
  check(ordinal < devices, "GPU {} of {}: there is no such device", ordinal, devices);
  check_cuda(cudaSetDevice(ordinal), "choosing the GPU");
  cudaDeviceProp properties;
  check_cuda(cudaGetDeviceProperties(&properties, ordinal), "reading the GPU's properties");
  name_ = properties.name;
  sms_ = attribute(ordinal, cudaDevAttrMultiProcessorCount);
  shared_memory_ = attribute(ordinal, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  capability_ = attribute(ordinal, cudaDevAttrComputeCapabilityMajor) * 10 +
                attribute(ordinal, cudaDevAttrComputeCapabilityMinor);
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  memory_ = total_bytes();
  // Choices of an earlier program, from fewer algorithms or shorter measurements, are not used.
  gemm_choices_ =
      std::make_unique<GemmChoices>(gemm_cache, fmt::format("{} cuBLASLt {} tuner 3", name_, cublasLtGetVersion()));
  attention_plans_ = std::make_unique<AttentionPlans>(*this);
  gemms_ = std::make_unique<GemmLibrary>();
}

Device::~Device() {
  attention_plans_.reset();  // must end before the cuDNN handle
  if (dnn_) cudnnDestroy(dnn_);
  if (blas_) cublasLtDestroy(blas_);
  cudaStreamDestroy(stream_);
}

cublasLtContext* Device::blas() {
  if (!blas_) {
    const cublasStatus_t status = cublasLtCreate(&blas_);
    check(status == CUBLAS_STATUS_SUCCESS, "starting cuBLASLt: error {}: {}", int(status),
          cublasLtGetStatusString(status));
  }
  return blas_;
}

cudnnContext* Device::dnn() {
  if (!dnn_) {
    cudnnStatus_t status = cudnnCreate(&dnn_);
    if (status == CUDNN_STATUS_SUCCESS) status = cudnnSetStream(dnn_, stream_);
    check(status == CUDNN_STATUS_SUCCESS, "starting cuDNN: error {}: {}", int(status), cudnnGetErrorString(status));
  }
  return dnn_;
}

static std::pair<i64, i64> memory() {
  size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "reading the GPU's free memory");
  return {i64(free), i64(total)};
}

i64 Device::free_bytes() const { return memory().first; }
i64 Device::total_bytes() const { return memory().second; }

}  // namespace megalith::cuda
