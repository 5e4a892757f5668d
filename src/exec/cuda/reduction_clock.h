// How long each reduction holds the compute stream up, by the GPU's clock. Marks stand around those in line and around
// the waits for those of lanes. A thread tells what has come, four times a second; nobody waits for the GPU.
#pragma once
#include <functional>
#include <thread>

#include "exec/cuda/mark.h"

namespace megalith::cuda {

class ReductionClock {
 public:
  explicit ReductionClock(std::function<void(double seconds)> told);
  ~ReductionClock();  // tells what has come so far; no mark may be under way
  ReductionClock(const ReductionClock&) = delete;
  ReductionClock& operator=(const ReductionClock&) = delete;

  // In the compute stream.
  void begin(cudaStream_t stream) const { launch_reduction_mark(time_, false, stream); }
  void end(cudaStream_t stream) const { launch_reduction_mark(time_, true, stream); }

 private:
  void tell();

  std::function<void(double)> say_;
  ReductionTime* time_ = nullptr;
  u64* told_ = nullptr;  // pinned
  u64 taken_ = 0;
  std::jthread thread_;
};

}  // namespace megalith::cuda
