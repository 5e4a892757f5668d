// The escapes of Python's string literals.
#pragma once
#include <string>
#include <string_view>

namespace megalith::chat {

// What stands between the quotes of a literal. Unknown escapes stay as they are. Fails with "line N: ..".
std::string unescaped(std::string_view literal, int line);

}  // namespace megalith::chat
