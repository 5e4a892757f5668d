// Copies between host and device that never stall the compute lane: writes go through a ring of pinned memory and are
// enqueued in order. So the caller's memory is free again on return, while the GPU still works on what came before.
// Several threads may write at a time, each to other bytes. Everything else is one thread's at a time.
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
  // The same with bytes, at most a slot of the ring, that `fill` puts down once the stream gets there: on a thread of
  // the driver, so it must not throw or call CUDA.
  using Fill = std::function<void(std::byte*)>;
  void write_later(std::byte* device, i64 bytes, Fill fill);
  void read(void* host, const std::byte* device, i64 bytes);  // waits for everything enqueued so far

 private:
  void choose_device() const;  // for this thread: a new one begins with the first, and would make a context there
  // Pinned memory within one slot, at most kSlotBytes, once the copies that used it before are done.
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
  cudaEvent_t done_[kSlots] = {};  // of the slot's last copy
  i64 slot_ = 0, used_ = 0;        // bytes of the slot
  std::mutex turn_;                // guards the queue and the members above
  int filling_[kSlots] = {};       // writes that have room in the slot, and are not enqueued yet
  std::condition_variable filled_;
};

}  // namespace megalith::cuda
