// GPU memory with an owner.
#pragma once
#include <memory>

#include "exec/cuda/device.h"

namespace megalith::cuda {

struct FreeDevice {
  void operator()(std::byte* p) const { cudaFree(p); }
};
using DeviceMemory = std::unique_ptr<std::byte, FreeDevice>;

// Empty if allocation fails.
inline DeviceMemory try_device_memory(i64 bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, size_t(bytes));
  if (status == cudaSuccess) return DeviceMemory(static_cast<std::byte*>(memory));
  cudaGetLastError();  // clears the error, which the next launch's check would find
  return nullptr;
}

}  // namespace megalith::cuda
