// Exports a GPU's signals as series.
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "observe/gpu_signals.h"

namespace megalith {

namespace {

// Idle clocks (bit 0) do not count as throttling.
constexpr std::pair<const char*, u64> kThrottleReasons[] = {
    {"applications_clocks", 0x2}, {"power_cap", 0x4},   {"hw_slowdown", 0x8},     {"sync_boost", 0x10},
    {"sw_thermal", 0x20},         {"hw_thermal", 0x40}, {"hw_power_brake", 0x80}, {"display_clocks", 0x100}};

class Teller final : public GpuTeller {
 public:
  Teller(std::unique_ptr<GpuSignals> signals, Endpoint& to, double every)
      : signals_(std::move(signals)),
        to_(to),
        every_(every),
        thread_([this](const std::stop_token& end) { run(end); }) {}

 private:
  void run(const std::stop_token& end) {
    std::unique_lock lock(mutex_);
    while (!end.stop_requested()) {
      tell(signals_->read());
      changed_.wait_for(lock, end, std::chrono::duration<double>(every_), [] { return false; });
    }
  }

  void tell(const GpuReading& r) {
    if (r.watts) to_.set("megalith_gpu_power_watts", *r.watts);
    if (r.sm_clock_mhz) to_.set("megalith_gpu_sm_clock_mhz", *r.sm_clock_mhz);
    if (r.celsius) to_.set("megalith_gpu_temperature_celsius", *r.celsius);
    if (r.throttle)
      for (const auto& [reason, bit] : kThrottleReasons)
        to_.set("megalith_gpu_throttle", (*r.throttle & bit) != 0, {{"reason", reason}});
    count(r.corrected, corrected_, "corrected"), count(r.uncorrected, uncorrected_, "uncorrected");
    if (r.xid) to_.set("megalith_gpu_xid_last", double(*r.xid));
  }

  void count(const std::optional<i64>& now, i64& told, const char* kind) {
    if (now && *now >= told)
      to_.add("megalith_gpu_ecc_errors_total", double(*now - std::exchange(told, *now)), {{"kind", kind}});
  }

  std::unique_ptr<GpuSignals> signals_;
  Endpoint& to_;
  double every_;
  i64 corrected_ = 0, uncorrected_ = 0;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<GpuTeller> tell_gpu(std::unique_ptr<GpuSignals> signals, Endpoint& endpoint, double every_seconds) {
  return signals ? std::make_unique<Teller>(std::move(signals), endpoint, every_seconds) : nullptr;
}

}  // namespace megalith
