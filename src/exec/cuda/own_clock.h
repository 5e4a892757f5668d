// How long a GPU works by itself. Marks stand around each run, each transfer in line and each wait for a lane. They
// read the GPU's clock where they stand in the compute stream (mark.h). Those of transfers are the watch's anyway. The
// host reads one number of its own memory, and never waits.
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
  double seconds();  // of the runs that have ended since the last call

 private:
  OwnTime* time_ = nullptr;
  u64* told_ = nullptr;  // pinned
  u64 taken_ = 0;
};

}  // namespace megalith::cuda
