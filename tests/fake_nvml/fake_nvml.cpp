// A library with NVML's names, for one GPU at 0000:1b:00.0. It does not tell the temperature.
#include <cstring>

extern "C" {

static int gpu, events, is_on = 0, has_event = 1;

int nvmlInit_v2() {
  is_on = 1;
  return 0;
}
int nvmlShutdown() {
  is_on = 0;
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* place, void** device) {
  *device = &gpu;
  return is_on && std::strcmp(place, "0000:1b:00.0") == 0 ? 0 : 6;
}
int nvmlDeviceGetIndex(void* device, unsigned* number) {
  *number = 5;
  return device == &gpu ? 0 : 2;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 512250;
  return device == &gpu ? 0 : 2;
}
int nvmlDeviceGetClockInfo(void* device, unsigned clock, unsigned* mhz) {
  *mhz = 1000 + clock;
  return device == &gpu ? 0 : 2;
}
int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* celsius) {
  *celsius = sensor;
  return device == &gpu ? 3 : 2;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* bits) {
  *bits = 0x1 | 0x4 | 0x40;
  return device == &gpu ? 0 : 2;
}
int nvmlDeviceGetTotalEccErrors(void* device, unsigned kind, unsigned counter, unsigned long long* errors) {
  *errors = kind == 0 ? 7 : 2;
  return device == &gpu && counter == 0 ? 0 : 2;
}
int nvmlEventSetCreate(void** set) {
  *set = &events;
  return 0;
}
int nvmlEventSetFree(void* set) { return set == &events ? 0 : 2; }
int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* set) {
  return device == &gpu && types == 8 && set == &events ? 0 : 2;
}
// One XID, once.
int nvmlEventSetWait_v2(void* set, void* data, unsigned milliseconds) {
  const struct {
    void* device;
    unsigned long long type, data;
    unsigned instances[2];
  } event = {&gpu, 8, 79, {0, 0}};
  if (!has_event || set != &events || milliseconds > 0) return 10;
  std::memcpy(data, &event, sizeof event);
  has_event = 0;
  return 0;
}

}  // extern "C"
