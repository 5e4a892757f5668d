// The table of commands, as main.cpp has it, and what each says of its flags: for the shell and the manual.
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

// As --help shows it. Of a group the name; of a flag its spelling, what it takes and what it does.
struct HelpFlag {
  std::string group, flag, value, help;
  // {a,b}: a and b; else none.
  std::vector<std::string> choices() const;
};

// Of the flags that `entry --help` prints, in its order; none of a command that takes none.
std::vector<HelpFlag> flags_of(const CommandEntry& entry);

}  // namespace megalith
