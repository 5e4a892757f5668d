// JSON as Python's json writes and reads it: NaN, Infinity and -Infinity, numbers of any size, halves of surrogate
// pairs. Parsers of plain JSON refuse all of these, mostly in members that nobody reads.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace megalith {

// The same JSON without them. Each number that no i64 or finite double holds becomes a string that `odd_number` knows.
// A half of a surrogate pair becomes U+FFFD. Text that Python refuses stays refused.
std::string plain_json(std::string_view json);

// The original text ("NaN", "1e400"), if the string came from plain_json in place of a number.
std::optional<std::string_view> odd_number(std::string_view string);

// The number as the nearest double; may be NaN or infinite.
double odd_double(std::string_view number);

}  // namespace megalith
