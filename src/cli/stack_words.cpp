#include "cli/stack_words.h"

#include "base/pattern.h"

namespace megalith {

std::string driver_version(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  for (const std::string machine : {"for x86_64", "for aarch64"})  // before the number or after it
    if (const size_t at = line.find(machine); at != line.npos) line.erase(at, machine.size());
  const Groups number = find_first(line, R"(Kernel Module[^0-9]*([0-9]+(\.[0-9]+)+))");
  return number.empty() ? "" : *number[1];
}

// The text after the number names a package, and its build machine.
std::string short_mpi_version(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  for (char& c : line)
    if (c == '\t') c = ' ';
  const Groups start =
      find_first(line, R"(([A-Za-z][A-Za-z() ]*?)(?: Library)?(?: Version)?:? *v?([0-9]+(\.[0-9]+)+))");
  return start.empty() ? "" : *start[1] + " " + *start[2];
}

}  // namespace megalith
