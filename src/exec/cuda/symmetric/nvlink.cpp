#include "exec/cuda/symmetric/nvlink.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <memory>
#include <optional>

namespace megalith::cuda {

namespace {

// Only NVLink has atomic operations between GPUs. Over PCIe NCCL is faster.
std::optional<bool> by_cuda(const std::string& mine, const std::string& other) {
  int from = 0, to = 0, has = 0;
  const bool known = cudaDeviceGetByPCIBusId(&from, mine.c_str()) == cudaSuccess &&
                     cudaDeviceGetByPCIBusId(&to, other.c_str()) == cudaSuccess &&
                     cudaDeviceGetP2PAttribute(&has, cudaDevP2PAttrNativeAtomicSupported, from, to) == cudaSuccess;
  cudaGetLastError();  // clears an error, which the next launch's check would find
  return known ? std::optional(has != 0) : std::nullopt;
}

// NVML's functions, loaded by name with the signatures of its header. All return 0 on success.
class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), [](void* l) { l ? dlclose(l) : 0; }) {
    is_on_ = library_ && call<int()>("nvmlInit_v2");
  }
  ~Nvml() {
    if (is_on_) call<int()>("nvmlShutdown");
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool has_atomics(const std::string& a, const std::string& b) const {
    constexpr int kAtomics = 3, kOk = 0;
    int status = -1;
    void* const first = is_on_ ? gpu(a) : nullptr;
    void* const second = is_on_ ? gpu(b) : nullptr;
    return first && second &&
           call<int(void*, void*, int, int*)>("nvmlDeviceGetP2PStatus", first, second, kAtomics, &status) &&
           status == kOk;
  }

 private:
  void* gpu(const std::string& place) const {
    void* out = nullptr;
    return call<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2", place.c_str(), &out) ? out : nullptr;
  }
  template <class F, class... Args>
  bool call(const char* name, Args... args) const {
    auto* function = reinterpret_cast<F*>(dlsym(library_.get(), name));
    return function && function(args...) == 0;
  }

  std::unique_ptr<void, void (*)(void*)> library_;
  bool is_on_ = false;
};

}  // namespace

bool has_nvlink(const std::string& mine, const std::string& other) {
  if (mine == other) return true;
  const std::optional<bool> known = by_cuda(mine, other);
  return known ? *known : Nvml().has_atomics(mine, other);
}

}  // namespace megalith::cuda
