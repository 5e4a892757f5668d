#include "exec/cuda/host_copies.h"

namespace megalith::cuda {

std::byte* HostCopies::memory(i64 bytes) {
  if (bytes <= bytes_) return pinned_.get();
  pinned_.reset(), bytes_ = 0;
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, size_t(bytes), cudaHostAllocDefault), "allocating pinned memory for checkpoints");
  pinned_.reset(static_cast<std::byte*>(memory)), bytes_ = bytes;
  return pinned_.get();
}

void HostCopies::add(std::span<std::byte> to, const std::byte* from) {
  check_cuda(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, lane_.stream()),
             "copying from the GPU");
}

}  // namespace megalith::cuda
