// The device of a command; device/make_backend.h opens it.
#pragma once
#include <string>

#include "base/cpu_kernels.h"

namespace megalith {

namespace config {
class FieldList;
}

enum class DeviceKind { automatic, cpu, cuda, paper };

struct DeviceOptions {
  // auto: cuda where there is a GPU that the build can use; cpu; cuda; or, for --dry-run, a device that need not be
  // there: the name or the file of its facts (facts/facts_file.h).
  std::string device = "auto";
  std::string gemm_cache_file = {};  // empty: in the user's cache directory; "none": no file, and nothing is measured
  CpuKernels cpu_kernels = CpuKernels::automatic;  // of builds that have two sets (exec/best_cpu)
  bool no_symmetric_memory = false;                // collectives of GPUs by NCCL alone
  double timeout_seconds = 600;                    // of what a GPU waits for from others; --distributed-timeout-minutes

  DeviceKind kind() const {
    return device == "auto"   ? DeviceKind::automatic
           : device == "cpu"  ? DeviceKind::cpu
           : device == "cuda" ? DeviceKind::cuda
                              : DeviceKind::paper;
  }
  bool operator==(const DeviceOptions&) const = default;
};

void list_fields(DeviceOptions& c, config::FieldList& f);

}  // namespace megalith
