#include "exec/cuda/own_clock.h"

#include <utility>

namespace megalith::cuda {

OwnClock::OwnClock() {
  check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&told_), sizeof *told_, cudaHostAllocDefault),
             "allocating pinned memory");
  check_cuda(cudaMalloc(reinterpret_cast<void**>(&time_), sizeof *time_), "allocating a clock");
  *told_ = 0;
  const OwnTime start{.told = told_};
  check_cuda(cudaMemcpy(time_, &start, sizeof start, cudaMemcpyHostToDevice), "starting a clock");
}

OwnClock::~OwnClock() {
  cudaFree(time_);
  cudaFreeHost(told_);
}

double OwnClock::seconds() {
  const u64 now = *static_cast<volatile u64*>(told_);
  return double(now - std::exchange(taken_, now)) * 1e-9;
}

}  // namespace megalith::cuda
