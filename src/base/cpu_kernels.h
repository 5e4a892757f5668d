// Sets of CPU kernels that a build can have: --cpu-kernels.
#pragma once
#include "base/dtype.h"

namespace megalith {

// automatic: the CPU decides. baseline: compiled for the build's own architecture.
enum class CpuKernels : u8 { automatic, avx512, baseline };

}  // namespace megalith
