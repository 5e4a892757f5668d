// Small f64 results that are copied to the host. Each one is written to its own pinned memory in stream order; an event
// signals its arrival.
#pragma once
#include <span>
#include <vector>

#include "exec/cuda/device.h"

namespace megalith::cuda {

class Requests {
 public:
  static constexpr int kSlots = 64;  // maximum number of results that are requested and not taken

  explicit Requests(cudaStream_t stream);
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  int ask(const std::byte* device, i64 bytes);  // enqueues; returns a ticket
  bool ready(int ticket);
  double arrived(int ticket);            // waits; returns the arrival time, by steady_seconds()
  std::vector<double> take(int ticket);  // waits; ends the ticket
  // The address of the values, for work enqueued after ask(), even if the ticket has been taken.
  std::span<const double> place(int ticket) const;

 private:
  struct Slot {
    double* pinned = nullptr;
    i64 room = 0, bytes = 0;  // bytes 0: free
    cudaEvent_t done = {};
    double arrived = 0;
  };
  void make_room(Slot& slot, i64 bytes);

  cudaStream_t stream_;
  Slot slots_[kSlots];
  std::vector<double*> pinned_;  // all memory so far, because enqueued work may still read it
};

}  // namespace megalith::cuda
