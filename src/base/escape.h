// Text from files within messages of one line.
#pragma once
#include <fmt/core.h>

#include <string>
#include <string_view>

namespace megalith {

// Control characters as escapes: a newline is "\n", others are "\x1b".
inline std::string escape_controls(std::string_view text) {
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      out += "\\n";
    else if (byte < 32 || byte == 127)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out;
}

}  // namespace megalith
