// Values of a GPU's samples over a time.
#include <algorithm>
#include <cmath>
#include <utility>

#include "report/gpu_join.h"

namespace megalith::report {

namespace {

constexpr u64 kIdle = 0x1;
constexpr std::pair<u64, const char*> kReasons[] = {
    {0x2, "application clocks"}, {0x4, "power cap"},         {0x8, "hardware slowdown"},     {0x10, "sync boost"},
    {0x20, "software thermal"},  {0x40, "hardware thermal"}, {0x80, "hardware power brake"}, {0x100, "display clocks"}};

double middle_value(std::vector<double> values) {
  if (values.empty()) return NAN;
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double mean_value(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v / double(values.size());
  return values.empty() ? NAN : sum;
}

class Values {
 public:
  Values(const GpuSample* begin, const GpuSample* end) : begin_(begin), end_(end) {}
  std::vector<double> operator[](GpuSignal s) const {
    std::vector<double> out;
    for (const GpuSample* p = begin_; p != end_; ++p)
      if (std::isfinite((*p)[s])) out.push_back((*p)[s]);
    return out;
  }

 private:
  const GpuSample *begin_, *end_;
};

u64 bits_of(double x) { return x >= 0 && x < 9e15 ? u64(x) : 0; }

void take_throttle(const std::vector<double>& values, GpuTimes& out) {
  i64 with_reason = 0;
  for (const double v : values) {
    const u64 bits = bits_of(v) & ~kIdle;
    out.throttle |= bits, with_reason += i64(bits != 0);
  }
  if (!values.empty()) out.throttled = double(with_reason) / double(values.size());
}

}  // namespace

GpuTimes times_of(const GpuSamples& gpu, double begin, double end) {
  const auto first = std::ranges::lower_bound(gpu.samples, begin, {}, &GpuSample::time);
  const auto last = std::ranges::upper_bound(gpu.samples, end, {}, &GpuSample::time);
  GpuTimes out;
  if (first >= last) return out;
  out.samples = last - first;
  const Values values(&*first, &*first + out.samples);
  const std::vector<double> clocks = values[GpuSignal::sm_clock], heat = values[GpuSignal::temperature];
  out.clock = middle_value(clocks), out.power = middle_value(values[GpuSignal::power]);
  if (!clocks.empty()) out.least_clock = *std::ranges::min_element(clocks);
  if (!heat.empty()) out.hottest = *std::ranges::max_element(heat);
  out.tensor = mean_value(values[GpuSignal::tensor]);
  const double sent = mean_value(values[GpuSignal::nvlink_sent]);
  const double received = mean_value(values[GpuSignal::nvlink_received]);
  out.nvlink = std::isnan(sent) ? received : std::isnan(received) ? sent : sent + received;
  take_throttle(values[GpuSignal::throttle], out);
  for (const double x : values[GpuSignal::xid])
    if (const i64 xid = i64(bits_of(x)); xid != 0 && std::ranges::find(out.xids, xid) == out.xids.end())
      out.xids.push_back(xid);
  return out;
}

std::string throttle_text(u64 bits) {
  std::string out;
  for (const auto& [bit, name] : kReasons)
    if (bits & bit) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

}  // namespace megalith::report
