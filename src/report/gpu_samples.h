// Reads a monitor's samples of GPUs: the output of `dcgmi dmon`, or CSV or JSON of Prometheus with the metrics of
// dcgm-exporter.
#pragma once
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith::report {

enum class GpuSignal : u8 {
  sm_clock,     // MHz
  temperature,  // degrees Celsius
  power,        // W
  throttle,     // bits of reasons, as in NVML
  tensor,       // share of the time that tensor cores are active
  sm_active,
  utilization,  // %
  nvlink_sent,  // bytes/s
  nvlink_received,
  xid,  // the last Xid error
};
inline constexpr std::size_t kNumGpuSignals = 10;

// The signal of a column of dcgmi ("TENSO") or a metric ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE").
std::optional<GpuSignal> gpu_signal_of(std::string_view name);

struct GpuSample {
  double time = 0;  // Unix seconds
  std::array<double, kNumGpuSignals> values = unknown();
  double operator[](GpuSignal s) const { return values[std::size_t(s)]; }  // NaN: unknown

  static std::array<double, kNumGpuSignals> unknown() {
    std::array<double, kNumGpuSignals> all;
    all.fill(std::numeric_limits<double>::quiet_NaN());
    return all;
  }
};

// The samples of a GPU, by time.
struct GpuSamples {
  std::string host;  // empty: not in the file
  i64 gpu = -1;      // its number on the host; -1: unknown
  std::string bus{};
  std::vector<GpuSample> samples{};
};

struct GpuFile {
  std::string path;
  std::vector<GpuSamples> gpus{};
  std::array<bool, kNumGpuSignals> has{};  // signals with a value
  i64 passed_over = 0;                     // lines that cannot be read
  bool has_times = true;                   // false: times follow from the interval between samples
};

// `dcgmi dmon` writes no times. `begin` is then the time of the first sample. Without `begin`, the time of the file's
// last change is that of the last sample.
struct GpuFileTimes {
  std::optional<double> begin{};  // Unix seconds
  double interval = 1;            // seconds between samples
  double offset = 0;              // added to all times
};

// Error, in one line, if the file cannot be read or has no sample.
GpuFile read_gpu_file(const std::string& path, const GpuFileTimes& times = {});

// "0000:1b:00.0" of "00000000:1B:00.0".
std::string plain_bus(std::string_view bus);

}  // namespace megalith::report
