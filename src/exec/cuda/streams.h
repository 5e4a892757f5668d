// Streams and events with owners.
#pragma once
#include <memory>

#include "exec/cuda/device.h"

namespace megalith::cuda {

struct DestroyEvent {
  void operator()(cudaEvent_t e) const { cudaEventDestroy(e); }
};
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

inline Event make_event(unsigned flags = cudaEventDisableTiming) {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, flags), "making an event");
  return Event(event);
}

// A stream of higher priority than the compute lane, because others wait for its work.
class Lane {
 public:
  Lane() {
    int least = 0, greatest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "making a lane");
    check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest), "making a lane");
  }
  ~Lane() { cudaStreamDestroy(stream_); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  cudaStream_t stream() const { return stream_; }
  // Work enqueued on this lane from now on waits for the work on `other` so far.
  void fork_from(cudaStream_t other) {
    check_cuda(cudaEventRecord(fork_.get(), other), "starting a lane");
    check_cuda(cudaStreamWaitEvent(stream_, fork_.get()), "starting a lane");
  }
  // Work enqueued on `other` from now on waits for the work on this lane so far.
  void join(cudaStream_t other) {
    check_cuda(cudaEventRecord(join_.get(), stream_), "joining a lane");
    check_cuda(cudaStreamWaitEvent(other, join_.get()), "joining a lane");
  }

 private:
  cudaStream_t stream_ = nullptr;
  Event fork_ = make_event(), join_ = make_event();
};

}  // namespace megalith::cuda
