// Tests that need GPUs, and are skipped where there are fewer.
#pragma once
#include <gtest/gtest.h>

#include "exec/cuda/backend.h"

namespace megalith {

template <int kGpus>
class OnGpus : public testing::Test {
 protected:
  void SetUp() override {
    const int here = cuda_device_count();
    if (here < kGpus) GTEST_SKIP() << kGpus << " GPUs are needed, " << here << " are here";
  }
};

}  // namespace megalith
