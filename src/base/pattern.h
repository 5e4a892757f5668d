// Regular expressions in ECMAScript's syntax. Only pattern.cpp includes <regex>, which takes seconds to compile.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace megalith {

// [0]: all that matched; [i]: the i-th group, nullopt if it took no part. Empty: no match.
using Groups = std::vector<std::optional<std::string>>;

Groups match_all(const std::string& text, const char* pattern);               // the pattern matches the whole text
Groups find_first(const std::string& text, const char* pattern);              // its first match in the text
std::vector<Groups> find_each(const std::string& text, const char* pattern);  // its matches, in order

}  // namespace megalith
