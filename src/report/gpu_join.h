// What GPUs did while iterations were slow: the samples of a monitor, joined to a run by host, GPU and time.
#pragma once
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "report/findings.h"
#include "report/gpu_samples.h"
#include "report/run_files.h"

namespace megalith::report {

// A GPU with samples. Its place in the run is unknown if the run has no file of ranks.
struct JoinedGpu {
  i64 rank = -1;  // -1: unknown
  std::string host;
  i64 gpu = -1;
  const GpuSamples* samples = nullptr;
};

// Values of a GPU's samples over a time. NaN: unknown.
struct GpuTimes {
  i64 samples = 0;
  double clock = NAN, least_clock = NAN;  // MHz: median, least
  double hottest = NAN;                   // degrees Celsius
  double power = NAN;                     // W, median
  double tensor = NAN, nvlink = NAN;      // means: a share; bytes/s both ways
  u64 throttle = 0;                       // bits that any sample has
  double throttled = NAN;                 // share of the samples with a reason but idle clocks
  std::vector<i64> xids{};                // but 0
};
GpuTimes times_of(const GpuSamples& gpu, double begin, double end);

struct SlowGpu {
  SlowIteration slow;
  double begin = 0, end = 0;  // Unix time
  i64 joined = -1;            // of the slowest rank, index in GpuJoin::gpus; -1: it has no samples
  i64 rank = -1;              // the slowest one; -1: unknown
  bool by_own_work = false;   // true: by --log-straggler, false: by its clock
  GpuTimes around{};
  std::vector<i64> new_xids{};  // that were not there before
};

struct GpuJoin {
  std::vector<JoinedGpu> gpus{};  // by rank
  std::vector<SlowGpu> slow{};    // slowest first
  std::vector<std::string> notes{};
  double begin = 0, end = 0;  // of the run's lines
  bool has(GpuSignal s) const { return has_[std::size_t(s)]; }
  std::array<bool, kNumGpuSignals> has_{};
};

// The files outlive the result. `hosts`: of each file, "" if it is not given.
GpuJoin join_gpus(const RunFiles& run, const std::vector<GpuFile>& files, const std::vector<std::string>& hosts);

// "power cap, hardware slowdown": of NVML's bits but idle clocks. Empty: none.
std::string throttle_text(u64 bits);

}  // namespace megalith::report
