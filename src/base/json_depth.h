// JSON text from outside, before it is parsed: what walks a parsed value calls itself at each level, so that text
// nested a million deep, which a parser takes, would leave the stack.
#pragma once
#include <string_view>

namespace megalith {

inline constexpr int kMaxJsonDepth = 64;

// Whether arrays and objects are nested deeper than that. The text need not be JSON.
bool is_nested_too_deep(std::string_view json);

}  // namespace megalith
