// The CPU's backend with the fastest kernels that this build has for the CPU.
#pragma once
#include "comm/ranks.h"
#include "exec/best_cpu/choice.h"
#include "plan/interpreter.h"

namespace megalith {

// As make_cpu_backend(). A build for other machines can have kernels for AVX-512 too: MEGALITH_WIDE. `asked`:
// --cpu-kernels.
std::unique_ptr<Backend> make_best_cpu_backend(Ranks* ranks = nullptr, CpuKernels asked = CpuKernels::automatic);

}  // namespace megalith
