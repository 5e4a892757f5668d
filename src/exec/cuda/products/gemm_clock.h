// Counts the multiprocessors' clock cycles of the work enqueued between begin() and end(), and the clock's mean
// frequency.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda/products/gemm_tuner.h"

namespace megalith::cuda {

class CycleCounter {
 public:
  CycleCounter(int sms, cudaStream_t stream);
  ~CycleCounter();
  CycleCounter(const CycleCounter&) = delete;
  CycleCounter& operator=(const CycleCounter&) = delete;

  void begin();  // waits
  Sample end();  // waits

 private:
  static constexpr int kMostSms = 1024;

  int sms_;
  cudaStream_t stream_;
  cudaEvent_t events_[2] = {};
  u64* cycles_ = nullptr;  // two readings of kMostSms each, in pinned memory that the GPU writes; 0: not read
};

// Enqueues a kernel that writes each multiprocessor's cycle counter to cycles[its index].
void read_clocks(u64* cycles, int most, int sms, cudaStream_t stream);

}  // namespace megalith::cuda
