#include "launch/memory_events.h"

#include <fstream>
#include <string>

namespace megalith::launch {

i64 out_of_memory_kills() {
  std::string line, group;
  for (std::ifstream groups("/proc/self/cgroup"); std::getline(groups, line);)
    if (line.starts_with("0::")) group = line.substr(3);
  std::ifstream events("/sys/fs/cgroup" + group + "/memory.events");
  std::string what;
  for (i64 count = 0; events >> what >> count;)
    if (what == "oom_kill") return count;
  return 0;
}

}  // namespace megalith::launch
