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

void HostCopies::use_device(i64 bytes) {
  if (bytes <= device_bytes_) return;
  device_memory_.reset(), device_bytes_ = 0;
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, size_t(bytes)), "allocating the GPU's memory for checkpoints");
  device_memory_.reset(static_cast<std::byte*>(memory)), device_bytes_ = bytes;
}

void HostCopies::begin() {
  used_ = 0, on_device_.clear();
  if (!device_memory_) lane_.fork_from(work_);
}

void HostCopies::add(std::span<std::byte> to, const std::byte* from) {
  if (!device_memory_) return to_host(to, from);
  check(used_ + i64(to.size()) <= device_bytes_, "copies of {} bytes on the GPU, which has room for {}",
        used_ + i64(to.size()), device_bytes_);
  std::byte* copy = device_memory_.get() + used_;
  check_cuda(cudaMemcpyAsync(copy, from, to.size(), cudaMemcpyDefault, work_), "copying on the GPU");
  on_device_.push_back({to, copy}), used_ += i64(to.size());
}

void HostCopies::end() {
  if (device_memory_) lane_.fork_from(work_);
  for (const OnDevice& c : on_device_) to_host(c.to, c.copy);
  check_cuda(cudaEventRecord(done_.get(), lane_.stream()), "copying from the GPU");
}

void HostCopies::hold() {
  if (!device_memory_) check_cuda(cudaStreamWaitEvent(work_, done_.get()), "copying from the GPU");
}

void HostCopies::to_host(std::span<std::byte> to, const std::byte* from) {
  check_cuda(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDefault, lane_.stream()), "copying from the GPU");
}

}  // namespace megalith::cuda
