#include "base/control_group.h"

#include <fstream>
#include <string>

namespace megalith {
namespace {

// Lines of /proc/self/cgroup: "0::/group" of version 2, "4:memory:/group" of version 1.
struct MemoryGroup {
  std::string directory{};
  bool is_version_1 = false;
};

MemoryGroup own_group() {
  constexpr std::string_view kFirst = ":memory:", kSecond = "0::";
  MemoryGroup group;
  std::string line;
  for (std::ifstream groups("/proc/self/cgroup"); std::getline(groups, line);) {
    if (const size_t at = line.find(kFirst); at != std::string::npos)
      return {"/sys/fs/cgroup/memory" + line.substr(at + kFirst.size()), true};
    if (line.starts_with(kSecond)) group.directory = "/sys/fs/cgroup" + line.substr(kSecond.size());
  }
  return group;
}

}  // namespace

std::optional<i64> memory_limit() {
  constexpr i64 kNone = i64{1} << 60;  // version 1 has a number near 2^63 without a limit
  const MemoryGroup group = own_group();
  std::ifstream file(group.directory + (group.is_version_1 ? "/memory.limit_in_bytes" : "/memory.max"));
  i64 bytes = 0;
  if (file >> bytes && bytes < kNone) return bytes;
  return {};
}

i64 out_of_memory_kills() {
  const MemoryGroup group = own_group();
  std::ifstream events(group.directory + (group.is_version_1 ? "/memory.oom_control" : "/memory.events"));
  std::string what;
  for (i64 count = 0; events >> what >> count;)
    if (what == "oom_kill") return count;
  return 0;
}

}  // namespace megalith
