// Guesses the format of a line that should be a JSON object and is not.
#pragma once
#include <string>
#include <string_view>

namespace megalith {

// The likely format and what to do: an array, a part of an object, plain text, compressed bytes, another encoding.
// Empty if unclear.
std::string line_hint(std::string_view line);

}  // namespace megalith
