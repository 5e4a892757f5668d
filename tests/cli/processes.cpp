#include "processes.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace megalith::test {

namespace fs = std::filesystem;

std::vector<pid_t> processes_with(const std::string& text) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (problem != std::errc() || end != name.data() + name.size()) continue;
    const std::ifstream file(entry.path().string() + "/cmdline");
    std::ostringstream read;
    read << file.rdbuf();  // shorter if the process exits meanwhile
    const std::string words = read.str();
    if (words.substr(0, words.find('\0')).ends_with("/bin/megalith") && words.find(text) != std::string::npos)
      found.push_back(pid);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace megalith::test
