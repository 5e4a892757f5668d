// Copies of the GPU's memory that are made beside its work: into pinned memory, on a lane of their own.
#pragma once
#include <memory>
#include <span>

#include "exec/cuda/streams.h"

namespace megalith::cuda {

class HostCopies {
 public:
  explicit HostCopies(cudaStream_t work) : work_(work) { check_cuda(cudaGetDevice(&device_), "making a lane"); }

  std::byte* memory(i64 bytes);  // pinned; made anew if there is less, so first no copy may be under way
  // A set of copies: each is of what `work` has left when begin() is called.
  void begin() { lane_.fork_from(work_); }
  void add(std::span<std::byte> to, const std::byte* from);
  void end() { check_cuda(cudaEventRecord(done_.get(), lane_.stream()), "copying from the GPU"); }
  // What `work` gets from here on waits for them.
  void hold() { check_cuda(cudaStreamWaitEvent(work_, done_.get()), "copying from the GPU"); }
  // The caller does; on any thread.
  void wait() const {
    check_cuda(cudaSetDevice(device_), "copying from the GPU");  // a new thread begins with another
    check_cuda(cudaEventSynchronize(done_.get()), "copying from the GPU");
  }

 private:
  struct FreePinned {
    void operator()(std::byte* p) const { cudaFreeHost(p); }
  };
  cudaStream_t work_;
  int device_ = 0;
  Lane lane_;
  Event done_ = make_event();
  std::unique_ptr<std::byte, FreePinned> pinned_;
  i64 bytes_ = 0;
};

}  // namespace megalith::cuda
