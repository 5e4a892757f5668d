// Counts the multiprocessors' clock cycles over what is enqueued in between, and the clock's mean frequency.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda/gemm_tuner.h"

namespace megalith::cuda {

class CycleCounter {
 public:
  CycleCounter(int sms, cudaStream_t stream);
  ~CycleCounter();
  CycleCounter(const CycleCounter&) = delete;
  CycleCounter& operator=(const CycleCounter&) = delete;

  void begin();
  Sample end();  // waits

 private:
  static constexpr int kMostSms = 1024;
  struct Reading {
    u64 cycles[kMostSms];  // 0: no block of the reading kernel was there
    u64 ns;
  };
  void read(Reading* into);

  int sms_;
  cudaStream_t stream_;
  Reading* readings_ = nullptr;  // two, in pinned memory that the GPU writes to
};

// Enqueues a kernel that writes each multiprocessor's cycle counter to cycles[its index] and the time to *ns.
void read_clocks(u64* cycles, int most, u64* ns, int sms, cudaStream_t stream);

}  // namespace megalith::cuda
