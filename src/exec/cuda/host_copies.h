// Copies of GPU memory to pinned memory during its work, on a separate lane. As far as the GPU has memory, copies are
// made there first, in line; that takes about a hundredth of the time. A CUDA thread copies host leaves in the lane's
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
  ~HostCopies() { cudaStreamSynchronize(lane_.stream()); }  // memory to free is in use by running copies
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  // Pinned when begin() returns. Reallocated if it is too small, so no copy may be running.
  std::byte* memory(i64 bytes);
  // begin() will not wait for memory(); waits so long for it.
  bool is_memory_ready(double seconds) const { return !pinned_ || pinned_->is_ready(seconds); }
  // Likewise on the GPU. If allocation fails: a warning, and copies go directly to the host.
  void use_device(i64 bytes);
  // Begins a set of copies: each one has the result of the work before begin().
  void begin();
  void add(std::span<std::byte> to, const std::byte* from);
  void add_from_host(std::span<std::byte> to, const std::byte* from);
  void end();
  // Whether some, since end(), are not made on the GPU first: then what changes the state must be held back.
  bool reads_state() const { return reads_; }
  void hold();  // what `work` gets from here on waits for those
  // The caller does; on any thread.
  void wait() const {
    check_cuda(cudaSetDevice(device_), "copying from the GPU");  // a new thread begins with another
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
  Event read_ = make_event(), done_ = make_event();  // the state itself is read; all is on the host
  std::unique_ptr<PinnedMap> pinned_;
  DeviceMemory device_memory_;
  i64 device_bytes_ = 0, used_ = 0;
  std::vector<Copied> on_device_, on_host_;  // since begin(): copies on the GPU; of the host's memory
  bool reads_ = false;                       // the lane reads the state itself, and `work` does not wait for it yet
};

}  // namespace megalith::cuda
