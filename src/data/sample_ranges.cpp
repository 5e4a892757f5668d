#include "data/sample_ranges.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "base/check.h"
#include "base/escape.h"

namespace megalith {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::optional<i64> sample_number(std::string_view text) {
  i64 n = 0;
  const std::string_view digits = trimmed(text);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  const bool ok = error == std::errc() && end == digits.data() + digits.size() && n >= 0;
  return ok && n < std::numeric_limits<i64>::max() ? std::optional(n) : std::nullopt;
}

std::string range_text(i64 begin, i64 end) {
  return end - begin == 1 ? fmt::format("{}", begin) : fmt::format("{}-{}", begin, end - 1);
}

}  // namespace

SampleRanges SampleRanges::parse(std::string_view text, const std::string& name) {
  SampleRanges out;
  i64 number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1, ++number;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t dash = line.find('-');
    const auto first = sample_number(line.substr(0, dash));
    const auto last = dash == line.npos ? first : sample_number(line.substr(dash + 1));
    constexpr size_t kShown = 40;
    check(first && last && *first <= *last,
          "{}: line {} is '{}': give a sample's number, or a range FIRST-LAST, in each line", name, number,
          escape_controls(std::string(line.substr(0, kShown))));
    out.ranges_.push_back({*first, *last + 1});
  }
  std::ranges::sort(out.ranges_, {}, &Range::begin);
  std::vector<Range> joined;
  for (const Range& r : out.ranges_) {
    if (!joined.empty() && r.begin <= joined.back().end)
      joined.back().end = std::max(joined.back().end, r.end);
    else
      joined.push_back(r);
  }
  out.ranges_ = std::move(joined);
  return out;
}

i64 SampleRanges::count(i64 begin, i64 end) const {
  i64 sum = 0;
  for (auto r = std::ranges::upper_bound(ranges_, begin, {}, &Range::end); r != ranges_.end() && r->begin < end; ++r)
    sum += std::min(end, r->end) - std::max(begin, r->begin);
  return sum;
}

i64 SampleRanges::size() const { return count(0, std::numeric_limits<i64>::max()); }

std::string SampleRanges::text() const { return text(0, std::numeric_limits<i64>::max()); }

std::string SampleRanges::text(i64 begin, i64 end) const {
  std::string out;
  for (const Range& r : ranges_)
    if (r.begin < end && r.end > begin)
      out += (out.empty() ? "" : ", ") + range_text(std::max(begin, r.begin), std::min(end, r.end));
  return out;
}

}  // namespace megalith
