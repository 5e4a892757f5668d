// What a line is that should be a JSON object and is none.
#pragma once
#include <string>
#include <string_view>

namespace megalith {

// What it looks like and what to do, where that can be told: an array, a part of an object, plain text, packed bytes,
// another encoding. Else empty.
std::string line_hint(std::string_view line);

}  // namespace megalith
