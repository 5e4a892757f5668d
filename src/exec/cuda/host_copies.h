// Copies of the GPU's memory that are made beside its work: into pinned memory, on a lane of their own. If the GPU has
// memory for it, they are made there first, in line: that takes about a hundredth of the time.
#pragma once
#include <span>
#include <vector>

#include "exec/cuda/pinned.h"
#include "exec/cuda/streams.h"

namespace megalith::cuda {

class HostCopies {
 public:
  explicit HostCopies(cudaStream_t work) : work_(work) { check_cuda(cudaGetDevice(&device_), "making a lane"); }

  std::byte* memory(i64 bytes);  // pinned; made anew if there is less, so first no copy may be under way
  void use_device(i64 bytes);    // likewise
  // A set of copies: each is of what `work` has left when begin() is called.
  void begin();
  void add(std::span<std::byte> to, const std::byte* from);  // which may be on the host
  void end();
  // What `work` gets from here on waits for them, unless they are on the GPU.
  void hold();
  // The caller does; on any thread.
  void wait() const {
    check_cuda(cudaSetDevice(device_), "copying from the GPU");  // a new thread begins with another
    check_cuda(cudaEventSynchronize(done_.get()), "copying from the GPU");
  }

 private:
  struct FreeDevice {
    void operator()(std::byte* p) const { cudaFree(p); }
  };
  struct OnDevice {
    std::span<std::byte> to;
    const std::byte* copy;
  };
  void to_host(std::span<std::byte> to, const std::byte* from);
  cudaStream_t work_;
  int device_ = 0;
  Lane lane_;
  Event done_ = make_event();
  Pinned pinned_;
  i64 bytes_ = 0;
  std::unique_ptr<std::byte, FreeDevice> device_memory_;
  i64 device_bytes_ = 0, used_ = 0;
  std::vector<OnDevice> on_device_;  // since begin()
};

}  // namespace megalith::cuda
