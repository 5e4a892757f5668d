// Memory of the GPU that ends with its owner.
#pragma once
#include <memory>

#include "exec/cuda/device.h"

namespace megalith::cuda {

struct FreeDevice {
  void operator()(std::byte* p) const { cudaFree(p); }
};
using DeviceMemory = std::unique_ptr<std::byte, FreeDevice>;

// Nothing if it can't be had.
inline DeviceMemory try_device_memory(i64 bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, size_t(bytes));
  if (status == cudaSuccess) return DeviceMemory(static_cast<std::byte*>(memory));
  cudaGetLastError();  // else the next launch's check would find it
  return nullptr;
}

}  // namespace megalith::cuda
