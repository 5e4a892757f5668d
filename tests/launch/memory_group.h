// A control group (cgroup) with little memory. This process, and those that it starts, are in it while the object
// lives.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/control_group.h"

namespace megalith::test {

class MemoryGroup {
 public:
  explicit MemoryGroup(i64 bytes) {
    std::string line, at;
    for (std::ifstream groups("/proc/self/cgroup"); std::getline(groups, line);) {
      const size_t memory = line.find(":memory:");
      if (memory != std::string::npos) at = "/sys/fs/cgroup/memory" + line.substr(memory + 8);
      if (at.empty() && line.starts_with("0::")) at = "/sys/fs/cgroup" + line.substr(3);
    }
    std::error_code error;
    folder_ = at + "/megalith-test-" + std::to_string(getpid());
    if (!std::filesystem::create_directory(folder_, error)) return;
    const bool is_version_1 = std::filesystem::exists(folder_ + "/memory.limit_in_bytes");
    is_there_ = put(folder_ + (is_version_1 ? "/memory.limit_in_bytes" : "/memory.max"), bytes) &&
                put(folder_ + "/cgroup.procs", getpid());
    former_ = at;
  }
  ~MemoryGroup() {
    if (is_there_) put(former_ + "/cgroup.procs", getpid());
    std::error_code error;
    std::filesystem::remove(folder_, error);
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  bool is_there() const { return is_there_; }
  static bool has_limit() { return memory_limit().has_value(); }

 private:
  static bool put(const std::string& file, i64 value) {
    std::ofstream out(file);
    out << value << std::flush;
    return bool(out);
  }
  std::string folder_, former_;
  bool is_there_ = false;
};

}  // namespace megalith::test
