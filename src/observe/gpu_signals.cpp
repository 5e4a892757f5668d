// NVML's functions, loaded by name with the signatures of its header. All return 0 on success.
#include "observe/gpu_signals.h"

#include <dlfcn.h>

namespace megalith {

namespace {

using Device = void*;
using EventSet = void*;
constexpr unsigned kSmClock = 1, kGpuSensor = 0, kVolatile = 0, kCorrected = 0, kUncorrected = 1;
constexpr unsigned long long kXidEvents = 8;

struct EventData {
  Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

class Nvml final : public GpuSignals {
 public:
  explicit Nvml(void* library) : library_(library) {}
  ~Nvml() override {
    if (events_) call<int(EventSet)>("nvmlEventSetFree", events_);
    if (is_on_) call<int()>("nvmlShutdown");
    dlclose(library_);
  }

  bool find_device(const std::string& place) {
    is_on_ = call<int()>("nvmlInit_v2");
    if (!is_on_ || !call<int(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2", place.c_str(), &device_))
      return false;
    if (!call<int(EventSet*)>("nvmlEventSetCreate", &events_)) events_ = nullptr;
    if (events_)
      call<int(Device, unsigned long long, EventSet)>("nvmlDeviceRegisterEvents", device_, kXidEvents, events_);
    return true;
  }

  std::optional<int> number() const {
    unsigned n = 0;
    return call<int(Device, unsigned*)>("nvmlDeviceGetIndex", device_, &n) ? std::optional(int(n)) : std::nullopt;
  }

  GpuReading read() override {
    GpuReading out;
    if (unsigned mw = 0; call<int(Device, unsigned*)>("nvmlDeviceGetPowerUsage", device_, &mw)) out.watts = mw / 1e3;
    if (unsigned mhz = 0; call<int(Device, unsigned, unsigned*)>("nvmlDeviceGetClockInfo", device_, kSmClock, &mhz))
      out.sm_clock_mhz = mhz;
    if (unsigned c = 0; call<int(Device, unsigned, unsigned*)>("nvmlDeviceGetTemperature", device_, kGpuSensor, &c))
      out.celsius = c;
    if (unsigned long long bits = 0;
        call<int(Device, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &bits))
      out.throttle = bits;
    out.corrected = errors(kCorrected), out.uncorrected = errors(kUncorrected);
    if (EventData e{}; events_ && call<int(EventSet, EventData*, unsigned)>("nvmlEventSetWait_v2", events_, &e, 0u))
      out.xid = i64(e.data);
    return out;
  }

 private:
  template <class F, class... Args>
  bool call(const char* name, Args... args) const {
    auto* function = reinterpret_cast<F*>(dlsym(library_, name));
    return function && function(args...) == 0;
  }
  std::optional<i64> errors(unsigned kind) const {
    unsigned long long n = 0;
    const bool known = call<int(Device, unsigned, unsigned, unsigned long long*)>("nvmlDeviceGetTotalEccErrors",
                                                                                  device_, kind, kVolatile, &n);
    return known ? std::optional(i64(n)) : std::nullopt;
  }

  void* library_;
  bool is_on_ = false;
  Device device_ = nullptr;
  EventSet events_ = nullptr;
};

std::unique_ptr<Nvml> open_nvml(const std::string& place, const std::string& library) {
  void* const handle = place.empty() ? nullptr : dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return nullptr;
  auto nvml = std::make_unique<Nvml>(handle);
  return nvml->find_device(place) ? std::move(nvml) : nullptr;
}

}  // namespace

std::unique_ptr<GpuSignals> open_gpu_signals(const std::string& place, const std::string& library) {
  return open_nvml(place, library);
}

std::optional<int> gpu_number(const std::string& place, const std::string& library) {
  const auto nvml = open_nvml(place, library);
  return nvml ? nvml->number() : std::nullopt;
}

}  // namespace megalith
