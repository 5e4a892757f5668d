// The properties of a GPU that kernels choose by.
#pragma once
#include "base/dtype.h"

namespace megalith::cuda {

struct GpuSizes {
  int sms = 0;            // multiprocessors
  i64 shared_memory = 0;  // bytes that a block may ask for
  int capability = 0;     // 90: Hopper
  i64 memory = 0;         // bytes, all of it
};

}  // namespace megalith::cuda
