// A monitor's samples of GPUs during slow iterations, joined to a run by host, GPU and time.
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
  double tensor = NAN, nvlink = NAN;      // means: share of the time; bytes/s in both directions
  u64 throttle = 0;                       // all bits of the samples
  double throttled = NAN;                 // share of the samples with a reason other than idle clocks
  std::vector<i64> xids{};                // without 0
};
GpuTimes times_of(const GpuSamples& gpu, double begin, double end);

struct SlowGpu {
  SlowIteration slow;
  double begin = 0, end = 0;  // Unix time
  i64 joined = -1;            // index in GpuJoin::gpus of the slowest rank; -1: it has no samples
  i64 rank = -1;              // the slowest rank; -1: unknown
  bool by_own_work = false;   // true: rank from --log-straggler, false: rank with the lowest clock
  GpuTimes around{};
  std::vector<i64> new_xids{};  // xids that the sample before does not have
};

struct GpuJoin {
  std::vector<JoinedGpu> gpus{};  // by rank
  std::vector<SlowGpu> slow{};    // slowest first
  std::vector<std::string> notes{};
  double begin = 0, end = 0;  // of the run's lines
  bool has(GpuSignal s) const { return has_[std::size_t(s)]; }
  std::array<bool, kNumGpuSignals> has_{};
};

// The files must outlive the result. `hosts`: the host of each file, "" if it is not given.
GpuJoin join_gpus(const RunFiles& run, const std::vector<GpuFile>& files, const std::vector<std::string>& hosts);

// "power cap, hardware slowdown": the text of NVML's bits other than idle clocks. Empty: no other bits.
std::string throttle_text(u64 bits);

}  // namespace megalith::report
