#include "observe/timing_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace megalith {

namespace {

std::string dotted(const std::string& name) { return fmt::format("{:.<48}", name + " "); }

std::string block_of_all(const std::vector<std::vector<NamedValue>>& seconds) {
  std::string out;
  for (size_t i = 0; i < seconds[0].size(); ++i) {
    bool is_named = false;
    for (size_t r = 0; r < seconds.size(); ++r) {
      if (seconds[r][i].value <= 0) continue;
      if (!is_named) out += fmt::format("\n  {}:", seconds[0][i].name);
      is_named = true;
      out += fmt::format("\n     rank {:2d}: {:.2f}", r, 1e3 * seconds[r][i].value);
    }
  }
  return out.empty() ? "" : "times across ranks (ms):" + out;
}

}  // namespace

std::string timing_block(const std::vector<std::vector<NamedValue>>& seconds, TimingLogOption option) {
  if (option == TimingLogOption::all) return block_of_all(seconds);
  const bool max_only = option == TimingLogOption::max;
  std::string out;
  for (size_t i = 0; i < seconds[0].size(); ++i) {
    double least = 0, most = 0;  // over the ranks that have any
    for (const auto& of_rank : seconds) {
      const double ms = 1e3 * of_rank[i].value;
      if (ms <= 0) continue;
      least = least == 0 ? ms : std::min(least, ms), most = std::max(most, ms);
    }
    if (most <= 0) continue;
    out += fmt::format("\n    {}: ", dotted(seconds[0][i].name));
    out += max_only ? fmt::format("{:.2f}", most) : fmt::format("({:.2f}, {:.2f})", least, most);
  }
  if (out.empty()) return "";
  return (max_only ? "max time across ranks (ms):" : "(min, max) time across ranks (ms):") + out;
}

std::string timing_text(const std::vector<NamedValue>& seconds) {
  std::string out;
  for (const NamedValue& v : seconds) out += fmt::format("{} {}\n", v.name, v.value);
  return out;
}

std::vector<NamedValue> timing_of_text(const std::string& text) {
  std::vector<NamedValue> out;
  std::istringstream in(text);
  for (std::string name, value; in >> name >> value;) out.push_back({name, std::strtod(value.c_str(), nullptr)});
  return out;
}

}  // namespace megalith
