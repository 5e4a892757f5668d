#include "data/blend.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>

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

// One quoted word may hold a whole blend, "0.7 a 0.3 b", if no file has that name.
std::vector<std::string> without_quoting(const std::vector<std::string>& items) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto is_there = [&](const std::string& s) { return fs::exists(s, ignored) || fs::exists(s + ".idx", ignored); };
  std::vector<std::string> out;
  for (const std::string& item : items) {
    std::istringstream in(item);
    const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    const bool several = words.size() > 1 && !is_there(item) && (number(words[0]) || is_there(words[0]));
    out.insert(out.end(), several ? words.begin() : words.end(), words.end());
    if (!several) out.push_back(item);
  }
  return out;
}

void leave_out_unweighted(Blend& blend, const std::string& flag) {
  if (blend.weights.empty()) return;
  Blend kept;
  for (std::size_t i = 0; i < blend.weights.size(); ++i) {
    const bool counts = blend.weights[i] != 0;
    (counts ? kept.prefixes : kept.left_out).push_back(blend.prefixes[i]);
    if (counts) kept.weights.push_back(blend.weights[i]);
  }
  check(!kept.weights.empty(), "{}: every dataset has the weight 0: give one of them more", flag);
  blend = std::move(kept);
}

}  // namespace

Blend parse_blend(const std::vector<std::string>& given, const std::string& flag) {
  const std::vector<std::string> items = without_quoting(given);
  Blend blend;
  const std::size_t n = items.size();
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < n; i += 2) numbers += number(strip(items[i])).has_value();
  const bool pairs = n % 2 == 0 && n > 0 && numbers == n / 2;
  check(n % 2 == 1 || numbers == 0 || pairs,
        "{} has weights for {} of {} pairs: give WEIGHT PREFIX for every dataset, or only prefixes", flag, numbers,
        n / 2);
  for (std::size_t i = 0; i < n; ++i) {
    if (pairs && i % 2 == 0)
      blend.weights.push_back(*number(strip(items[i])));
    else
      blend.prefixes.push_back(strip(items[i]));
  }
  leave_out_unweighted(blend, flag);
  for (const std::string& prefix : blend.prefixes)
    check(!prefix.empty(), "{} holds an empty name: give a prefix", flag);
  return blend;
}

i64 blend_used(double weight, i64 size) { return i64(std::ceil(double(size) * weight)); }

i64 blend_built(double weight, i64 size, double surplus) {
  return i64(std::ceil(std::ceil(double(size) * weight) * (1 + surplus)));
}

}  // namespace megalith
