// A build with two sets of CPU kernels. The CPU decides at start.
#include <array>

#include "exec/best_cpu/best_cpu.h"
#include "exec/cpu/backend.h"

namespace megalith {

// make_cpu_backend() of exec/cpu as it is compiled for AVX-512: CMakeLists.txt renames it.
std::unique_ptr<Backend> make_wide_cpu_backend(Ranks* ranks, const char* kernels);

namespace {

// What x86-64-v4 has beyond x86-64-v3.
auto needed_by_wide() {
  return std::to_array<CpuFeature>({{"avx512f", __builtin_cpu_supports("avx512f") != 0},
                                    {"avx512bw", __builtin_cpu_supports("avx512bw") != 0},
                                    {"avx512cd", __builtin_cpu_supports("avx512cd") != 0},
                                    {"avx512dq", __builtin_cpu_supports("avx512dq") != 0},
                                    {"avx512vl", __builtin_cpu_supports("avx512vl") != 0},
                                    {"fma", __builtin_cpu_supports("fma") != 0},
                                    {"bmi2", __builtin_cpu_supports("bmi2") != 0}});
}

}  // namespace

std::unique_ptr<Backend> make_best_cpu_backend(Ranks* ranks, CpuKernels asked) {
  if (takes_avx512(asked, true, needed_by_wide())) return make_wide_cpu_backend(ranks, "avx512");
  return make_cpu_backend(ranks, "baseline");
}

}  // namespace megalith
