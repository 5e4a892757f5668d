// Arrays on the GPU for tests that call launch functions.
#pragma once
#include <gtest/gtest.h>

#include <vector>

#include "exec/cuda/device.h"

namespace megalith::kernel_tests {

template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& x) : n_(x.size()) {
    cuda::check_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), (n_ + 1) * sizeof(T)), "test array");
    cuda::check_cuda(cudaMemcpy(data_, x.data(), n_ * sizeof(T), cudaMemcpyDefault), "test array");
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  T* get() { return data_; }
  std::vector<T> host() {
    std::vector<T> x(n_);
    cuda::check_cuda(cudaDeviceSynchronize(), "test array");
    cuda::check_cuda(cudaMemcpy(x.data(), data_, n_ * sizeof(T), cudaMemcpyDefault), "test array");
    return x;
  }

 private:
  size_t n_;
  T* data_ = nullptr;
};

}  // namespace megalith::kernel_tests
