// Python's string methods on UTF-8. Positions count code points; white space is Unicode's.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith::chat {

// The longest text that a template may make.
inline constexpr size_t kMostBytes = size_t{64} << 20;
void check_size(size_t bytes);  // fails above kMostBytes

i64 count_characters(std::string_view text);
std::vector<std::string_view> characters(std::string_view text);

// `set`: the characters to remove; empty: white space.
std::string_view strip_left(std::string_view text, std::string_view set = {});
std::string_view strip_right(std::string_view text, std::string_view set = {});
inline std::string_view strip(std::string_view text, std::string_view set = {}) {
  return strip_left(strip_right(text, set), set);
}

// By Unicode's one-to-one case mappings, and a sharp s becomes SS. Other letters that become several (ligatures)
// stay.
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);

// At most `most` cuts, from the left or the right; -1: no limit. An empty separator: runs of white space.
std::vector<std::string_view> split(std::string_view text, std::string_view separator, i64 most, bool from_right);
// Fails if the result is longer than kMostBytes.
std::string replace_all(std::string_view text, std::string_view what, std::string_view with, i64 most = -1);

std::vector<std::string_view> split_lines(std::string_view text);  // str.splitlines()

// repr() of a string and of a floating-point number.
std::string repr(std::string_view text);
std::string repr(double number);
// In quotes, with JSON's escapes. ascii: also escapes all non-ASCII characters.
std::string json_string(std::string_view text, bool ascii);

}  // namespace megalith::chat
