// Checks the depth of external JSON text before it is parsed. Code that walks a parsed value recurses at each level.
// Text nested a million deep, which a parser accepts, would overflow the stack.
#pragma once
#include <string_view>

namespace megalith {

inline constexpr int kMaxJsonDepth = 64;

// Whether arrays and objects are nested deeper than that. The text need not be JSON.
bool is_nested_too_deep(std::string_view json);

}  // namespace megalith
