// Tests of the NVML values with a fake NVML library.
#include "observe/gpu_signals.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <mutex>
#include <thread>

namespace megalith {
namespace {

constexpr const char* kPlace = "0000:1b:00.0";

class Kept final : public Endpoint {
 public:
  int port() const override { return 1; }
  void set(std::string_view name, double value, const Labels& labels) override { put(name, value, labels, false); }
  void add(std::string_view name, double more, const Labels& labels) override { put(name, more, labels, true); }
  void observe(std::string_view, double) override {}
  void clear(std::string_view) override {}
  void healthy_until(double) override {}

  std::map<std::string, double> values() const {
    const std::lock_guard lock(mutex_);
    return values_;
  }
  int readings() const {
    const std::lock_guard lock(mutex_);
    return readings_;
  }

 private:
  void put(std::string_view name, double value, const Labels& labels, bool adds) {
    EXPECT_EQ(series_named(name).kind, adds ? SeriesKind::counter : SeriesKind::gauge) << name;
    const std::lock_guard lock(mutex_);
    std::string key(name);
    for (const auto& [label, text] : labels) key += " " + text;
    values_[key] = adds ? values_[key] + value : value;
    readings_ += name == "megalith_gpu_power_watts";
  }
  mutable std::mutex mutex_;
  std::map<std::string, double> values_;
  int readings_ = 0;
};

TEST(GpuSignals, AreToldAsSeries) {
  Kept endpoint;
  {
    const auto teller = tell_gpu(open_gpu_signals(kPlace, FAKE_NVML), endpoint, 0.001);
    ASSERT_NE(teller, nullptr);
    while (endpoint.readings() < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const std::map<std::string, double> wanted{{"megalith_gpu_power_watts", 512.25},
                                             {"megalith_gpu_sm_clock_mhz", 1001},
                                             {"megalith_gpu_throttle applications_clocks", 0},
                                             {"megalith_gpu_throttle power_cap", 1},
                                             {"megalith_gpu_throttle hw_slowdown", 0},
                                             {"megalith_gpu_throttle sync_boost", 0},
                                             {"megalith_gpu_throttle sw_thermal", 0},
                                             {"megalith_gpu_throttle hw_thermal", 1},
                                             {"megalith_gpu_throttle hw_power_brake", 0},
                                             {"megalith_gpu_throttle display_clocks", 0},
                                             {"megalith_gpu_ecc_errors_total corrected", 7},
                                             {"megalith_gpu_ecc_errors_total uncorrected", 2},
                                             {"megalith_gpu_xid_last", 79}};
  EXPECT_EQ(endpoint.values(), wanted);  // no temperature; each counter once
}

TEST(GpuSignals, AreAbsentWithoutTheLibraryOrTheGpu) {
  EXPECT_EQ(open_gpu_signals(kPlace, "libthere-is-no-such-thing.so.1"), nullptr);
  EXPECT_EQ(open_gpu_signals("0000:99:00.0", FAKE_NVML), nullptr);
  EXPECT_EQ(open_gpu_signals("", FAKE_NVML), nullptr);
  Kept endpoint;
  EXPECT_EQ(tell_gpu(nullptr, endpoint), nullptr);
}

}  // namespace
}  // namespace megalith
