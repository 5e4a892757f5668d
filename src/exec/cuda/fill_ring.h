// Writes to the GPU through pinned memory that the caller fills. This memory is small, so the CPU's caches hold it.
// Bytes cross host memory only once, when the caller reads them. Several threads may write at a time, each to other
// bytes of the GPU.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>

#include "exec/cuda/device.h"
#include "plan/filled_writes.h"

namespace megalith::cuda {

class FillRing {
 public:
  // Enough rooms for all threads that fill at a time, and for some copies in transfer.
  static constexpr i64 kRooms = 20, kRoomBytes = FilledWrites::kMost, kBytes = kRooms * kRoomBytes;

  explicit FillRing(cudaStream_t stream);
  ~FillRing();
  FillRing(const FillRing&) = delete;
  FillRing& operator=(const FillRing&) = delete;

  void allocate();  // the pinned memory; without this call the first write allocates it
  // At most kRoomBytes; waits for a room. If `put` throws, nothing is written. What several threads write at a time is
  // enqueued when the last of them returns.
  void write(std::byte* device, i64 bytes, const FilledWrites::Put& put);

 private:
  struct Filled {
    int room;
    std::byte* device;
    i64 bytes;
  };
  void allocate_once();  // with turn_ held
  int take_room();
  void enqueue(const Filled& filled);
  void give_back(int room, bool is_last);
  std::byte* at(int room) const { return pinned_ + room * kRoomBytes; }

  cudaStream_t stream_;
  int device_ = 0;
  std::byte* pinned_ = nullptr;  // from the first write on
  cudaEvent_t done_[kRooms] = {};
  std::mutex turn_;  // guards the members below
  std::condition_variable freed_;
  std::deque<int> rooms_;      // rooms that no thread fills, in the order in which their copies end
  std::deque<Filled> filled_;  // waiting to be enqueued
  bool is_enqueuing_ = false;  // a thread enqueues all that wait
};

}  // namespace megalith::cuda
