// Copies between host and device that never stall the compute lane: writes go through a ring of pinned memory and are
// enqueued in order, so the caller's memory is free again on return while the GPU still works on what came before.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

class Staging {
 public:
  explicit Staging(cudaStream_t stream);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void write(std::byte* device, const void* host, i64 bytes);  // enqueues; waits only for room in the ring
  void read(void* host, const std::byte* device, i64 bytes);   // waits for everything enqueued so far

 private:
  static constexpr i64 kSlots = 16, kSlotBytes = i64{4} << 20;
  cudaStream_t stream_;
  std::byte* pinned_ = nullptr;
  cudaEvent_t done_[kSlots] = {};  // of the slot's last copy
  i64 next_ = 0;
};

}  // namespace megalith::cuda
