// Which set of CPU kernels runs, in builds that have two.
#pragma once
#include <span>
#include <string_view>

#include "base/cpu_kernels.h"

namespace megalith {

// What the kernels for AVX-512 need of a CPU, and whether this one has it.
struct CpuFeature {
  std::string_view name;
  bool here;
};

// True: the kernels for AVX-512; false: those for the build's own architecture. `has_both`: the build has both sets.
// Error if the kernels that are asked for are not in the build, or cannot run on the CPU.
bool takes_avx512(CpuKernels asked, bool has_both, std::span<const CpuFeature> needed);

}  // namespace megalith
