// Small results, numbers in f64, on their way back to the host: each is told into pinned memory of its own in its place
// in the stream, and its event says when it has come.
#pragma once
#include <span>
#include <vector>

#include "exec/cuda/device.h"

namespace megalith::cuda {

class Requests {
 public:
  explicit Requests(cudaStream_t stream);
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  int ask(const std::byte* device, i64 bytes);  // enqueues; returns a ticket
  bool ready(int ticket);
  double arrived(int ticket);            // waits; when that was, by steady_seconds()
  std::vector<double> take(int ticket);  // waits; ends the ticket
  // Where the values will be: to be read by what is enqueued behind ask(), also when the ticket has been taken since.
  std::span<const double> place(int ticket) const;

 private:
  static constexpr int kSlots = 8;
  static constexpr i64 kSlotBytes = 4096;
  cudaStream_t stream_;
  double* pinned_ = nullptr;
  cudaEvent_t done_[kSlots] = {};
  i64 bytes_[kSlots] = {};  // 0: free
  double arrived_[kSlots] = {};
};

}  // namespace megalith::cuda
