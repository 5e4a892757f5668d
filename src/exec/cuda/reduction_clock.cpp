#include "exec/cuda/reduction_clock.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace megalith::cuda {

ReductionClock::ReductionClock(std::function<void(double seconds)> told) : say_(std::move(told)) {
  constexpr size_t kWords = 1 + ReductionTime::kMost;
  check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&told_), kWords * sizeof *told_, cudaHostAllocDefault),
             "allocating pinned memory");
  check_cuda(cudaMalloc(reinterpret_cast<void**>(&time_), sizeof *time_), "allocating a clock");
  std::fill_n(told_, kWords, u64{0});
  const ReductionTime start{.told = told_};
  check_cuda(cudaMemcpy(time_, &start, sizeof start, cudaMemcpyHostToDevice), "starting a clock");
  thread_ = std::jthread([this](const std::stop_token& end) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    while (!end.stop_requested()) {
      tell();
      changed.wait_for(lock, end, std::chrono::milliseconds(250), [] { return false; });
    }
  });
}

ReductionClock::~ReductionClock() {
  thread_ = {};  // ends the thread
  tell();
  cudaFree(time_);
  cudaFreeHost(told_);
}

// Marks that were overwritten before they were read are not reported.
void ReductionClock::tell() {
  const volatile u64* told = told_;
  const u64 now = told[0];
  std::atomic_thread_fence(std::memory_order_acquire);
  if (now - taken_ > ReductionTime::kMost) taken_ = now - ReductionTime::kMost;
  for (; taken_ < now; ++taken_) say_(double(told[1 + taken_ % ReductionTime::kMost]) * 1e-9);
}

}  // namespace megalith::cuda
