// Copies between host and device that never stall the compute lane. Writes go through a ring of pinned memory and are
// enqueued in order. So the caller may reuse its memory on return, while the GPU still processes earlier work. Several
// threads may write at a time, each to other bytes. Only one thread at a time may call anything else.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>

#include "exec/cuda/device.h"

namespace megalith::cuda {

class Staging {
 public:
  static constexpr i64 kSlots = 16, kSlotBytes = i64{4} << 20, kBytes = kSlots * kSlotBytes;  // of pinned memory

  explicit Staging(cudaStream_t stream);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void write(std::byte* device, const void* host, i64 bytes);  // enqueues; waits only for room in the ring
  // The same with bytes that `fill` writes when the stream gets there, at most a slot of the ring. `fill` runs on a
  // thread of the driver, so it must not throw or call CUDA.
  using Fill = std::function<void(std::byte*)>;
  void write_later(std::byte* device, i64 bytes, Fill fill);
  void read(void* host, const std::byte* device, i64 bytes);  // waits for all work enqueued so far

 private:
  void choose_device() const;  // for this thread: a new thread begins with device 0, and would create a context there
  // Pinned memory within one slot, at most kSlotBytes. The copies that used it before are done.
  struct Room {
    std::byte* at;
    i64 slot;
  };
  Room take_room(std::unique_lock<std::mutex>& turn, i64 bytes);
  std::byte* room(i64 bytes);
  void copied(i64 slot);  // enqueues the mark after the slot's copies

  cudaStream_t stream_;
  int device_ = 0;
  std::byte* pinned_ = nullptr;
  cudaEvent_t done_[kSlots] = {};  // mark after the slot's last copy
  i64 slot_ = 0, used_ = 0;        // current slot; its used bytes
  std::mutex turn_;                // guards the queue and the members above
  int filling_[kSlots] = {};       // writes that have room in the slot and are not enqueued yet
  std::condition_variable filled_;
};

}  // namespace megalith::cuda
