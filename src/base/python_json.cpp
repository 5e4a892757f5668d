#include "base/python_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/dtype.h"

namespace megalith {

namespace {

// In JSON and as parsed. No text of a file begins so by chance.
constexpr std::string_view kEscapedMark = "\\u0000\\u0001number:";
constexpr std::string_view kMark{"\0\1number:", 9};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t digits_end(std::string_view s, size_t i) {
  while (i < s.size() && is_digit(s[i])) ++i;
  return i;
}

// The end of a JSON number that begins at i; i if none begins there.
size_t number_end(std::string_view s, size_t i) {
  const size_t first = i + (s.substr(i).starts_with('-') ? 1 : 0), whole = digits_end(s, first);
  if (whole == first || (s[first] == '0' && whole > first + 1)) return i;
  size_t end = whole;
  if (end < s.size() && s[end] == '.') {
    if ((end = digits_end(s, end + 1)) == whole + 1) return i;
  }
  if (end < s.size() && (s[end] == 'e' || s[end] == 'E')) {
    const bool sign = end + 1 < s.size() && (s[end + 1] == '+' || s[end + 1] == '-');
    const size_t digits = end + 1 + (sign ? 1 : 0);
    if ((end = digits_end(s, digits)) == digits) return i;
  }
  return end;
}

bool is_odd(std::string_view number) {
  if (number.find_first_of(".eE") != std::string_view::npos)
    return std::isinf(std::strtod(std::string(number).c_str(), nullptr));
  i64 value = 0;
  return std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc();
}

// The number of Python's that begins at i and JSON lacks, or is too large for us; empty if there is none.
std::string_view odd_at(std::string_view s, size_t i) {
  for (const std::string_view name : {"NaN", "Infinity", "-Infinity"})
    if (s.substr(i).starts_with(name)) return name;
  const std::string_view number = s.substr(i, number_end(s, i) - i);
  return !number.empty() && is_odd(number) ? number : std::string_view();
}

// Of \uXXXX at i; 0 if it is none.
u32 unit_at(std::string_view s, size_t i) {
  u32 unit = 0;
  if (i + 6 > s.size() || s[i] != '\\' || s[i + 1] != 'u') return 0;
  const auto [end, error] = std::from_chars(s.data() + i + 2, s.data() + i + 6, unit, 16);
  return error == std::errc() && end == s.data() + i + 6 ? unit : 0;
}

// Copies the escape at i; returns where it ends.
size_t copy_escape(std::string_view s, size_t i, std::string& out) {
  const u32 unit = unit_at(s, i);
  if (unit < 0xD800 || unit > 0xDFFF) {
    out += s.substr(i, 2);
    return std::min(i + 2, s.size());
  }
  const u32 next = unit_at(s, i + 6);
  const bool pair = unit < 0xDC00 && next >= 0xDC00 && next <= 0xDFFF;
  out += pair ? s.substr(i, 12) : "\\ufffd";
  return i + (pair ? 12 : 6);
}

bool names_a_member(std::string_view s, size_t end) {
  const size_t next = s.find_first_not_of(" \t\r\n", end);
  return next != std::string_view::npos && s[next] == ':';
}

}  // namespace

std::string plain_json(std::string_view json) {
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < json.size();) {
    const char c = json[i];
    if (in_string && c == '\\') {
      i = copy_escape(json, i, out);
      continue;
    }
    if (c == '"') in_string = !in_string;
    const bool begins = !in_string && (is_digit(c) || c == '-' || c == 'N' || c == 'I');
    if (!begins) {
      out += c, ++i;
      continue;
    }
    const std::string_view odd = odd_at(json, i);
    const size_t end = odd.empty() ? std::max(number_end(json, i), i + 1) : i + odd.size();
    if (odd.empty() || names_a_member(json, end))
      out += json.substr(i, end - i);
    else
      out.append("\"").append(kEscapedMark).append(odd).append("\"");
    i = end;
  }
  return out;
}

std::optional<std::string_view> odd_number(std::string_view string) {
  if (!string.starts_with(kMark)) return std::nullopt;
  return string.substr(kMark.size());
}

double odd_double(std::string_view number) {
  if (number == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return std::strtod(std::string(number).c_str(), nullptr);  // knows Infinity too
}

}  // namespace megalith
