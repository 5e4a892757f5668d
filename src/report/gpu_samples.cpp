#include "report/gpu_samples.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <tuple>

#include "base/check.h"
#include "base/open_regular.h"
#include "report/gpu_text.h"

namespace megalith::report {

namespace {

namespace fs = std::filesystem;

struct SignalName {
  GpuSignal signal;
  const char *column, *metric;  // names in dcgmi, in dcgm-exporter
};
constexpr SignalName kSignalNames[] = {
    {GpuSignal::sm_clock, "SMCLK", "DCGM_FI_DEV_SM_CLOCK"},
    {GpuSignal::temperature, "TMPTR", "DCGM_FI_DEV_GPU_TEMP"},
    {GpuSignal::power, "POWER", "DCGM_FI_DEV_POWER_USAGE"},
    {GpuSignal::throttle, "DVCCTR", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"},
    {GpuSignal::throttle, "DVCCTR", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"},  // its name from DCGM 4 on
    {GpuSignal::tensor, "TENSO", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"},
    {GpuSignal::sm_active, "SMACT", "DCGM_FI_PROF_SM_ACTIVE"},
    {GpuSignal::utilization, "GPUTL", "DCGM_FI_DEV_GPU_UTIL"},
    {GpuSignal::nvlink_sent, "NVLTX", "DCGM_FI_PROF_NVLINK_TX_BYTES"},
    {GpuSignal::nvlink_received, "NVLRX", "DCGM_FI_PROF_NVLINK_RX_BYTES"},
    {GpuSignal::xid, "XIDER", "DCGM_FI_DEV_XID_ERRORS"},
};

double unix_time_of(const fs::path& path) {
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  if (error) return 0;
  return std::chrono::duration<double>(std::chrono::file_clock::to_sys(time).time_since_epoch()).count();
}

// Replaces numbers of samples by times.
void give_times(std::vector<GpuValue>& values, const GpuFileTimes& times, double end) {
  double last = 0;
  for (const GpuValue& v : values) last = std::max(last, v.time);
  const double first = times.begin.value_or(end - last * times.interval);
  for (GpuValue& v : values) v.time = first + v.time * times.interval;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = char(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::optional<GpuSignal> gpu_signal_of(std::string_view name) {
  for (const SignalName& n : kSignalNames)
    if (name == n.column || name == n.metric) return n.signal;
  return {};
}

std::string plain_bus(std::string_view bus) {
  std::string out = lower(bus);
  const std::size_t domain = out.find(':');
  constexpr std::size_t kDigits = 4;
  if (domain == std::string::npos || domain <= kDigits) return out;
  return out.substr(0, domain - kDigits).find_first_not_of('0') == std::string::npos ? out.substr(domain - kDigits)
                                                                                     : out;
}

GpuFile read_gpu_file(const std::string& path, const GpuFileTimes& times) {
  std::error_code none;
  std::ifstream in = open_regular(path);
  check(in.good(), "--dcgm {}: cannot read it: give the output of dcgmi dmon", path);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  check(first != std::string::npos, "--dcgm {}: it is empty: give the output of dcgmi dmon", path);
  GpuText read = looks_like_dmon(text)                      ? read_dmon(text)
                 : text[first] == '{' || text[first] == '[' ? read_gpu_json(text)
                                                            : read_gpu_csv(text);
  check(read.mistake.empty(), "--dcgm {}: {}: give the output of dcgmi dmon, or CSV or JSON of Prometheus", path,
        read.mistake);
  check(!read.values.empty(), "--dcgm {}: it has no sample of a GPU: give the output of dcgmi dmon", path);
  if (!read.has_times) give_times(read.values, times, unix_time_of(path));
  GpuFile out{.path = path, .passed_over = read.passed_over, .has_times = read.has_times};
  std::map<std::tuple<std::string, i64, std::string>, std::map<double, GpuSample>> sorted;
  for (const GpuValue& v : read.values) {
    if (!std::isfinite(v.time)) continue;
    GpuSample& sample = sorted[{v.host, v.gpu, plain_bus(v.bus)}][v.time + times.offset];
    sample.time = v.time + times.offset, sample.values[std::size_t(v.signal)] = v.value;
    out.has[std::size_t(v.signal)] |= std::isfinite(v.value);
  }
  for (auto& [key, samples] : sorted) {
    GpuSamples& gpu = out.gpus.emplace_back(GpuSamples{std::get<0>(key), std::get<1>(key), std::get<2>(key)});
    for (const auto& [time, sample] : samples) gpu.samples.push_back(sample);
  }
  return out;
}

}  // namespace megalith::report
