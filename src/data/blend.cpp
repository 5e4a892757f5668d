#include "data/blend.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "base/check.h"

namespace megalith {
namespace {

std::string strip(const std::string& text) {
  constexpr const char* kBlanks = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<double> number(const std::string& text) {
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (begin == end || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace

Blend parse_blend(const std::vector<std::string>& items, const std::string& flag) {
  Blend blend;
  const std::size_t n = items.size();
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < n; i += 2) numbers += number(strip(items[i])).has_value();
  const bool pairs = n % 2 == 0 && n > 0 && numbers == n / 2;
  check(n % 2 == 1 || numbers == 0 || pairs,
        "{} has weights for {} of {} pairs: give WEIGHT PREFIX for every dataset, or prefixes alone", flag, numbers,
        n / 2);
  for (std::size_t i = 0; i < n; ++i) {
    if (pairs && i % 2 == 0)
      blend.weights.push_back(*number(strip(items[i])));
    else
      blend.prefixes.push_back(strip(items[i]));
  }
  for (const std::string& prefix : blend.prefixes)
    check(!prefix.empty(), "{} holds an empty name: give a prefix", flag);
  return blend;
}

i64 blend_used(double weight, i64 size) { return i64(std::ceil(double(size) * weight)); }

i64 blend_built(double weight, i64 size, double surplus) {
  return i64(std::ceil(std::ceil(double(size) * weight) * (1 + surplus)));
}

}  // namespace megalith
