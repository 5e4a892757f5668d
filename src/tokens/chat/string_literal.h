// The escapes of Python's string literals.
#pragma once
#include <string>
#include <string_view>

namespace megalith::chat {

// The value of a literal's text between its quotes. Unknown escapes stay. Fails with "line N: ..".
std::string unescaped(std::string_view literal, int line);

}  // namespace megalith::chat
