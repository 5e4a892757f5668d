#include "report/time_text.h"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <string>

namespace megalith::report {

namespace {

std::optional<double> unix_of_number(std::string_view text) {
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  constexpr double kEarliest = 1e8, kMilliseconds = 1e11, kLatest = 1e14;  // 1973; no date in s is above 1e11
  if (!(x >= kEarliest && x < kLatest)) return {};
  return x >= kMilliseconds ? x / 1e3 : x;
}

// Seconds that a zone is ahead of UTC: "Z", "+01:00", "-0530". Empty for other texts.
std::optional<double> zone_of(const std::string& text) {
  if (text.empty() || text == "Z" || text == " UTC") return 0;
  int hours = 0, minutes = 0, read = 0;
  if (std::sscanf(text.c_str() + 1, "%2d:%2d%n", &hours, &minutes, &read) != 2 &&
      std::sscanf(text.c_str() + 1, "%2d%2d%n", &hours, &minutes, &read) != 2)
    return {};
  if (size_t(read) + 1 != text.size() || (text[0] != '+' && text[0] != '-')) return {};
  return (text[0] == '-' ? -60.0 : 60.0) * (60 * hours + minutes);
}

}  // namespace

std::optional<double> time_of_text(std::string_view text) {
  if (const auto number = unix_of_number(text)) return number;
  const std::string date(text);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, read = 0;
  double second = 0;
  char between = 0;
  if (date.size() > 40 || std::sscanf(date.c_str(), "%4d-%2d-%2d%c%2d:%2d:%lf%n", &year, &month, &day, &between, &hour,
                                      &minute, &second, &read) != 7)
    return {};
  const std::chrono::year_month_day calendar{std::chrono::year(year), std::chrono::month(unsigned(month)),
                                             std::chrono::day(unsigned(day))};
  const auto zone = zone_of(date.substr(size_t(read)));
  const bool is_time = hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 61;
  if ((between != 'T' && between != ' ') || month < 0 || day < 0 || !calendar.ok() || !is_time || !zone) return {};
  const auto days = std::chrono::sys_days(calendar).time_since_epoch();
  return double(days.count()) * 86400 + hour * 3600.0 + minute * 60.0 + second - *zone;
}

}  // namespace megalith::report
