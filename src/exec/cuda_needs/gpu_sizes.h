// The properties of a GPU that kernels depend on.
#pragma once
#include "base/dtype.h"

namespace megalith::cuda {

struct GpuSizes {
  int sms = 0;            // multiprocessors
  i64 shared_memory = 0;  // maximum bytes of a block
  int capability = 0;     // 90: Hopper
  i64 memory = 0;         // total bytes
};

}  // namespace megalith::cuda
