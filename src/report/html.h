// Builds HTML.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace megalith::report {

// Text without markup: special characters are escaped, control characters become blanks.
std::string escaped(std::string_view text);

struct HtmlTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows{};  // as HTML
  std::string kind{};                            // CSS class: "numbers" aligns all columns but the first to the right
};
// Without columns whose cells are all empty.
HtmlTable without_empty_columns(HtmlTable table);
std::string html_of(const HtmlTable& table);

// A section of the page with its title. "" if the body is empty.
std::string section(std::string_view title, const std::string& body);

// 0.00012, 12.3, 1.2e+09: at most five digits.
std::string short_number(double x);
// 1,234,567.
std::string whole_number(double x);
// 95 s, 12.3 min, 5.2 h, 3.1 d.
std::string time_span(double seconds);
// 2026-11-26 21:15 UTC.
std::string date_text(double unix_seconds);

inline constexpr std::string_view kPageBegin = "<!DOCTYPE html>\n<html";
// The page. `title` is text, `body` is HTML. It loads no other resources.
std::string page(const std::string& title, const std::string& body);

}  // namespace megalith::report
