#include "cli/stack_words.h"

#include <regex>

namespace megalith {

std::string driver_version(const std::string& text) {
  static const std::regex number(
      R"(Kernel Module[^0-9]*([0-9]+(\.[0-9]+)+))");  // "x86_64" may be before it or after it
  std::smatch found;
  const std::string line =
      std::regex_replace(text.substr(0, text.find('\n')), std::regex("for x86_64|for aarch64"), "");
  return std::regex_search(line, found, number) ? found[1].str() : "";
}

// The text after the number names a package, and its build machine.
std::string short_mpi_version(const std::string& text) {
  static const std::regex start(R"(([A-Za-z][A-Za-z() ]*?)(?: Library)?(?: Version)?:? *v?([0-9]+(\.[0-9]+)+))");
  std::smatch found;
  std::string line = text.substr(0, text.find('\n'));
  for (char& c : line)
    if (c == '\t') c = ' ';
  return std::regex_search(line, found, start) ? found[1].str() + " " + found[2].str() : "";
}

}  // namespace megalith
