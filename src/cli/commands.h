// The table of commands in main.cpp, and the flags of each: for shell completion and the manual.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace megalith {

struct CommandEntry {
  std::string_view name, what;
  int (*run)(int, const char* const*);
};
std::span<const CommandEntry> all_commands();

// A line of --help. For a group its name; for a flag its spelling, its value and its meaning.
struct HelpFlag {
  std::string group, flag, value, help;
  // {a,b}: a and b; otherwise empty.
  std::vector<std::string> choices() const;
};

// The flags that `entry --help` prints, in its order. Empty for a command without flags.
std::vector<HelpFlag> flags_of(const CommandEntry& entry);

}  // namespace megalith
