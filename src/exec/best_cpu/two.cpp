// A build with two sets of CPU kernels. The CPU decides at start.
#include "exec/best_cpu/best_cpu.h"
#include "exec/cpu/backend.h"

namespace megalith {

// make_cpu_backend() of exec/cpu as it is compiled for AVX-512: CMakeLists.txt renames it.
std::unique_ptr<Backend> make_wide_cpu_backend(Ranks* ranks);

namespace {

// What x86-64-v4 has beyond x86-64-v3.
bool has_wide_vectors() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}

}  // namespace

std::unique_ptr<Backend> make_best_cpu_backend(Ranks* ranks) {
  return has_wide_vectors() ? make_wide_cpu_backend(ranks) : make_cpu_backend(ranks);
}

}  // namespace megalith
