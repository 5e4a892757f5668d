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
  static constexpr int kSlots = 64;
  struct Slot {
    double* pinned = nullptr;
    i64 room = 0, bytes = 0;  // bytes 0: free
    cudaEvent_t done = {};
    double arrived = 0;
  };
  void make_room(Slot& slot, i64 bytes);

  cudaStream_t stream_;
  Slot slots_[kSlots];
  std::vector<double*> pinned_;  // all that was: what is enqueued may still read it
};

}  // namespace megalith::cuda
