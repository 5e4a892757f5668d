#include "base/parse_count.h"

#include <charconv>

namespace megalith {

std::optional<i64> parse_count(std::string_view text) {
  i64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return is_whole ? std::optional(value) : std::nullopt;
}

}  // namespace megalith
