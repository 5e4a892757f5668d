// NVML's values of this rank's GPU, exported every few seconds by a separate thread. NVML is loaded if present. Without
// it, or if a GPU lacks a value, the series are absent.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "observe/endpoint.h"

namespace megalith {

struct GpuReading {
  std::optional<double> watts, sm_clock_mhz, celsius;
  std::optional<u64> throttle;                // bit mask, as in NVML
  std::optional<i64> corrected, uncorrected;  // memory errors since the driver was loaded
  std::optional<i64> xid;                     // one since the last reading
};

class GpuSignals {
 public:
  virtual ~GpuSignals() = default;
  virtual GpuReading read() = 0;
};

inline constexpr const char* kNvml = "libnvidia-ml.so.1";
// `place`: the GPU's bus id (Backend::device_place). nullptr if NVML or the GPU is missing.
std::unique_ptr<GpuSignals> open_gpu_signals(const std::string& place, const std::string& library = kNvml);

// The GPU's number on its host. Empty if NVML or the GPU is missing.
std::optional<int> gpu_number(const std::string& place, const std::string& library = kNvml);

// Reports readings until it is destroyed. Both arguments outlive it.
class GpuTeller {
 public:
  virtual ~GpuTeller() = default;
};
std::unique_ptr<GpuTeller> tell_gpu(std::unique_ptr<GpuSignals> signals, Endpoint& endpoint, double every_seconds = 5);

}  // namespace megalith
