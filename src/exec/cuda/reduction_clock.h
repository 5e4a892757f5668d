// The time that each reduction delays the compute stream, by the GPU's clock. Marks enclose reductions in line, and the
// waits for reductions on lanes. A thread reports new times four times a second. Nothing waits for the GPU.
#pragma once
#include <functional>
#include <thread>

#include "exec/cuda/mark.h"

namespace megalith::cuda {

class ReductionClock {
 public:
  explicit ReductionClock(std::function<void(double seconds)> told);
  ~ReductionClock();  // reports the times so far; no mark may be running
  ReductionClock(const ReductionClock&) = delete;
  ReductionClock& operator=(const ReductionClock&) = delete;

  // Marks in the compute stream.
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
