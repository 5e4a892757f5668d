// Copies GPU memory to pinned memory on a separate lane, during other work. If the GPU has enough memory, copies are
// first made there, in line; that takes about a hundredth of the time. A CUDA thread copies host leaves in the lane's
// order, because cudaMemcpyAsync would copy them immediately on the calling thread.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "exec/cuda/device_memory.h"
#include "exec/cuda/pinned_map.h"
#include "exec/cuda/streams.h"

namespace megalith::cuda {

class HostCopies {
 public:
  explicit HostCopies(cudaStream_t work) : work_(work) { check_cuda(cudaGetDevice(&device_), "making a lane"); }
  ~HostCopies() { cudaStreamSynchronize(lane_.stream()); }  // running copies still use the memory
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  // Pinned when begin() returns. Reallocated if it is too small, so no copy may be running.
  std::byte* memory(i64 bytes);
  // Whether begin() will not wait for memory(). Waits at most `seconds` for it.
  bool is_memory_ready(double seconds) const { return !pinned_ || pinned_->is_ready(seconds); }
  // The same on the GPU. If allocation fails, there is a warning, and copies go directly to the host.
  void use_device(i64 bytes);
  // Begins a set of copies. Each copy has the result of the work before begin().
  void begin();
  void add(std::span<std::byte> to, const std::byte* from);
  void add_from_host(std::span<std::byte> to, const std::byte* from);
  void end();
  // Whether some copies since end() were not made on the GPU first. Then work that changes the state must wait.
  bool reads_state() const { return reads_; }
  void hold();  // later work on `work` waits for those copies
  // The caller waits for all copies. Any thread may call it.
  void wait() const {
    check_cuda(cudaSetDevice(device_), "copying from the GPU");  // a new thread begins with device 0
    check_cuda(cudaEventSynchronize(done_.get()), "copying from the GPU");
  }

 private:
  struct Copied {
    std::span<std::byte> to;
    const std::byte* from;
  };
  void to_host(std::span<std::byte> to, const std::byte* from);
  cudaStream_t work_;
  int device_ = 0;
  Lane lane_;
  Event read_ = make_event(), done_ = make_event();  // the state itself is read; all copies are on the host
  std::unique_ptr<PinnedMap> pinned_;
  DeviceMemory device_memory_;
  i64 device_bytes_ = 0, used_ = 0;
  std::vector<Copied> on_device_, on_host_;  // since begin(): copies on the GPU; copies of host memory
  bool reads_ = false;                       // the lane reads the state itself, and `work` does not wait for it yet
};

}  // namespace megalith::cuda
