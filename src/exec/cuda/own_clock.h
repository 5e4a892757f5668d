// The time that a GPU works without waiting for others. Marks enclose each run, each transfer in line and each wait for
// a lane. They read the GPU's clock at their position in the compute stream (mark.h). The watch needs the marks of
// transfers anyway. The host reads one number in its own memory, and never waits.
#pragma once
#include "exec/cuda/mark.h"

namespace megalith::cuda {

class OwnClock {
 public:
  OwnClock();
  ~OwnClock();
  OwnClock(const OwnClock&) = delete;
  OwnClock& operator=(const OwnClock&) = delete;

  OwnTime* time() { return time_; }
  double seconds();  // sum over the runs that ended since the last call

 private:
  OwnTime* time_ = nullptr;
  u64* told_ = nullptr;  // pinned
  u64 taken_ = 0;
};

}  // namespace megalith::cuda
