// A build with one set of CPU kernels.
#include "exec/best_cpu/best_cpu.h"
#include "exec/cpu/backend.h"

namespace megalith {

std::unique_ptr<Backend> make_best_cpu_backend(Ranks* ranks, CpuKernels asked) {
  takes_avx512(asked, false, {});
  return make_cpu_backend(ranks);
}

}  // namespace megalith
