#include "base/process_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/read_error.h"

namespace megalith {

// A line "MemAvailable:  123 kB" of a file in /proc, in bytes.
static i64 proc_bytes(const char* file, const std::string& key) {
  std::ifstream in(file);
  if (!in) throw_read_error("open", file, errno);
  std::string word;
  for (i64 kib; in >> word;)
    if (word == key && in >> kib) return kib * 1024;
  fail("{} has no {}", file, key);
}

// The remaining memory of the process's control group. Empty if it has no limit, or if there are no groups.
static std::optional<i64> group_bytes() {
  std::ifstream limit("/sys/fs/cgroup/memory.max"), current("/sys/fs/cgroup/memory.current");
  std::ifstream details("/sys/fs/cgroup/memory.stat");
  i64 most = 0, used = 0, files = 0;
  if (!(limit >> most) || !(current >> used)) return std::nullopt;
  std::string key;
  for (i64 value; details >> key >> value;)
    if (key == "inactive_file") files = value;  // given back when it is needed
  return std::max<i64>(0, most - used + files);
}

void settle_malloc(i64 threads) {
  mallopt(M_ARENA_MAX, int(1 + threads / 8));
  mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

i64 resident_bytes() { return proc_bytes("/proc/self/status", "VmRSS:"); }
// Without this file of the kernel the peak includes that of the start.
void forget_peak_resident() { std::ofstream("/proc/self/clear_refs") << "5"; }

i64 peak_resident_bytes() { return proc_bytes("/proc/self/status", "VmHWM:"); }
i64 available_host_bytes() {
  const i64 machine = proc_bytes("/proc/meminfo", "MemAvailable:");
  return resident_bytes() + std::min(machine, group_bytes().value_or(machine));
}

}  // namespace megalith
