// A GPU: its properties, its stream, and the libraries' handles. Everything that talks to CUDA goes through
// check_cuda().
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/dtype.h"
#include "exec/cuda_needs/gpu_sizes.h"

struct cublasLtContext;
struct cudnnContext;

namespace megalith::cuda {

// Error with the call and CUDA's reason. `what`: the current operation, such as "[rms_norm] launch".
void check_cuda(cudaError_t status, std::string_view what);
// The error of the last launch. Called after each launch.
inline void check_launch(std::string_view what) { check_cuda(cudaGetLastError(), what); }

// Sets how the driver starts. Must be called before anything in the process may start it.
void settle_driver();
// Counts the GPUs. The error says why there are none.
cudaError_t count_devices(int& devices);

class GemmChoices;
class AttentionPlans;
struct GemmLibrary;

class Device {
 public:
  // Error if there is no such device. `gemm_cache`: file of chosen product algorithms; empty: nothing is measured.
  Device(int ordinal, const std::string& gemm_cache);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int ordinal() const { return ordinal_; }
  const std::string& name() const { return name_; }
  std::string bus_place() const;                        // "0000:1b:00.0"
  int sms() const { return sms_; }                      // multiprocessors
  i64 shared_memory() const { return shared_memory_; }  // maximum bytes of a block
  int capability() const { return capability_; }        // 90: Hopper
  GpuSizes sizes() const { return {sms_, shared_memory_, capability_, memory_}; }
  cudaStream_t stream() const { return stream_; }  // the compute lane
  cublasLtContext* blas();                         // created at first use
  cudnnContext* dnn();                             // created at first use; bound to stream()
  GemmChoices& gemm_choices() { return *gemm_choices_; }
  AttentionPlans& attention_plans() { return *attention_plans_; }
  GemmLibrary& gemms() { return *gemms_; }

  i64 free_bytes() const;  // as the driver reports it
  i64 total_bytes() const;

 private:
  int ordinal_, sms_ = 0, capability_ = 0;
  i64 shared_memory_ = 0, memory_ = 0;
  std::string name_;
  cudaStream_t stream_ = nullptr;
  cublasLtContext* blas_ = nullptr;
  cudnnContext* dnn_ = nullptr;
  std::unique_ptr<GemmChoices> gemm_choices_;
  std::unique_ptr<AttentionPlans> attention_plans_;
  std::unique_ptr<GemmLibrary> gemms_;
};

}  // namespace megalith::cuda
