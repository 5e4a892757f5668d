#include "exec/best_cpu/choice.h"

#include <string>

#include "base/check.h"

namespace megalith {

bool takes_avx512(CpuKernels asked, bool has_both, std::span<const CpuFeature> needed) {
  const bool forced = asked == CpuKernels::avx512;
  check(!forced || has_both,
        "--cpu-kernels avx512: this build has one set of CPU kernels: leave the flag out, or build with "
        "-DMEGALITH_NATIVE=OFF");
  std::string missing;
  for (const CpuFeature& f : needed)
    if (!f.here) missing += (missing.empty() ? "" : ", ") + std::string(f.name);
  check(!forced || missing.empty(), "--cpu-kernels avx512: this CPU lacks {}: leave the flag out", missing);
  return has_both && asked != CpuKernels::baseline && missing.empty();
}

}  // namespace megalith
