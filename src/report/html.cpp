#include "report/html.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/valid_utf8.h"

namespace megalith::report {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : valid_utf8(std::string(text))) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' || c == 127 ? ' ' : c;
    }
  }
  return out;
}

HtmlTable without_empty_columns(HtmlTable t) {
  for (std::size_t c = t.head.size(); c-- > 0;) {
    if (std::ranges::any_of(t.rows, [c](const auto& row) { return c >= row.size() || !row[c].empty(); })) continue;
    t.head.erase(t.head.begin() + std::ptrdiff_t(c));
    for (auto& row : t.rows) row.erase(row.begin() + std::ptrdiff_t(c));
  }
  return t;
}

std::string html_of(const HtmlTable& t) {
  std::string out = fmt::format("<table class=\"{}\"><thead><tr>", escaped(t.kind));
  for (const std::string& cell : t.head) out += "<th>" + escaped(cell) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const auto& row : t.rows) {
    out += "<tr>";
    for (const std::string& cell : row) out += "<td>" + cell + "</td>";
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string section(std::string_view title, const std::string& body) {
  return body.empty() ? "" : fmt::format("<section><h2>{}</h2>\n{}</section>\n", escaped(title), body);
}

std::string short_number(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "infinite" : "-infinite";
  const double size = std::abs(x);
  if (size >= 1e4 && size < 1e9) return whole_number(std::round(x));
  return fmt::format("{:.5g}", x);
}

std::string whole_number(double x) {
  std::string digits = fmt::format("{:.0f}", x);
  const auto first = std::ptrdiff_t(digits.starts_with('-'));
  for (auto at = std::ptrdiff_t(digits.size()) - 3; at > first; at -= 3) digits.insert(std::size_t(at), ",");
  return digits;
}

std::string time_span(double s) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
  if (s < 2 * kMinute) return fmt::format("{:.1f} s", s);
  if (s < 2 * kHour) return fmt::format("{:.1f} min", s / kMinute);
  if (s < 2 * kDay) return fmt::format("{:.1f} h", s / kHour);
  return fmt::format("{:.1f} d", s / kDay);
}

std::string date_text(double unix_seconds) {
  constexpr double kLatest = 253402300799;  // year 9999
  if (!(unix_seconds > 0 && unix_seconds < kLatest)) return "-";
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time_t(unix_seconds)));
}

// Colours of different lightness, because the page may be printed.
static constexpr const char* kStyle = R"(
:root{color-scheme:light}
body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;color:#1c2430;background:#fff;max-width:1040px;margin:0 auto;padding:28px 24px 60px}
h1{font-size:26px;line-height:1.2;margin:0 0 4px}
h2{font-size:18px;margin:34px 0 10px;padding-bottom:4px;border-bottom:1px solid #d5dbe3}
p{margin:6px 0}
.quiet{color:#5b6776}
.facts{display:flex;flex-wrap:wrap;gap:10px;margin:18px 0 4px}
.fact{border:1px solid #d5dbe3;border-radius:6px;padding:8px 14px;min-width:118px}
.fact b{display:block;font-size:20px;font-weight:600;font-variant-numeric:tabular-nums}
.fact span{color:#5b6776;font-size:13px}
.charts{display:grid;grid-template-columns:1fr 1fr;gap:18px 22px}
figure{margin:0;break-inside:avoid}
figure.wide{grid-column:1/3}
figcaption{font-size:14px;font-weight:600;margin-bottom:2px}
figcaption span{font-weight:400;color:#5b6776}
svg{display:block;width:100%;height:auto}
svg text{font:11px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;fill:#5b6776}
.grid{stroke:#e4e8ee;stroke-width:1;fill:none}
.axis{stroke:#98a2b0;stroke-width:1;fill:none}
.run{stroke:#0b5fc0;stroke-width:1.4;fill:none;stroke-linejoin:round}
.base{stroke:#c96a00;stroke-width:1.2;fill:none;stroke-dasharray:5 3}
.dot{fill:#0b5fc0}.dot.b{fill:#c96a00}
.odd{stroke:#b3001b;stroke-width:1.5}.odd.b{stroke:#c96a00}
.key{display:inline-block;width:22px;height:0;border-top:2px solid #0b5fc0;vertical-align:middle;margin:0 6px 0 14px}
.key.b{border-top:2px dashed #c96a00}
.resume{stroke:#5b6776;stroke-width:1;stroke-dasharray:2 3;fill:none}.key.resumed{width:0;height:15px;border-top:0;border-left:2px dashed #5b6776;margin-right:9px}
.narrow{display:none}
table{border-collapse:collapse;width:100%;font-size:13px;margin:8px 0}
th{text-align:left;font-weight:600;color:#3c4757;border-bottom:1px solid #98a2b0;padding:4px 10px 4px 0;white-space:nowrap}
td{border-bottom:1px solid #e4e8ee;padding:3px 10px 3px 0;vertical-align:top;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
table.numbers{width:auto}
table.numbers td:not(:first-child){white-space:nowrap}
table.incidents td:last-child{white-space:nowrap}table.incidents td:first-child{min-width:0}
table.gpus{font-size:12px}table.gpus th{white-space:normal;vertical-align:bottom}table.gpus td{white-space:nowrap}
table.gpus td:first-child{min-width:3em}table.gpus td span{display:inline-block;white-space:normal;max-width:16em}
table.numbers.long{width:100%;font-size:11.5px}
.bar,table.names,table.names tr{break-inside:avoid}.bar{break-before:avoid;break-after:avoid}
table.numbers th:not(:first-child),table.numbers td:not(:first-child){text-align:right;padding:3px 0 3px 14px}
td:first-child{min-width:8em}table.numbers td:first-child{min-width:11em}table.names td:nth-child(-n+4){white-space:nowrap}
.keys{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:12px;color:#3c4757;margin-top:4px}
details summary{cursor:pointer;color:#3c4757}
.bar{display:flex;height:26px;border-radius:4px;overflow:hidden;border:1px solid #98a2b0;margin:8px 0}
.bar div{min-width:0}
.swatch{display:inline-block;width:11px;height:11px;border:1px solid #98a2b0;margin-right:7px;vertical-align:-1px}
.bad{color:#b3001b;font-weight:600}.good{color:#1a6b32;font-weight:600}
.columns{columns:2;column-gap:28px;font-size:12px}
.columns p{margin:0;break-inside:avoid;overflow-wrap:anywhere}
@media screen and (max-width:760px){body{padding:16px 12px 40px}.charts{grid-template-columns:minmax(0,1fr)}figure.wide{grid-column:1}.broad{display:none}.narrow{display:block}table{display:block;overflow-x:auto}td{overflow-wrap:break-word}table.names td:last-child,table.incidents td:nth-child(2),table.incidents td:nth-last-child(2){min-width:15em}.columns{columns:1}}
@media print{body{max-width:none;padding:0;font-size:12px}figcaption{font-size:11.5px}table.incidents{font-size:10px}table.gpus{font-size:8.5px}table.gpus td,table.gpus th{padding-right:6px}h2,h2+p,p:has(+table){break-after:avoid}h2{margin-top:20px}table.numbers.long{font-size:8.5px}table.numbers.long td,table.numbers.long th{padding-left:6px!important;padding-right:0!important}.columns{columns:3;font-size:9px}tr,table.numbers:not(.long){break-inside:avoid}@page{size:A4;margin:14mm}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)";

std::string page(const std::string& title, const std::string& body) {
  return fmt::format(
      "{} lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>{}</style>"
      "</head>\n<body>\n{}</body></html>\n",
      kPageBegin, escaped(title), kStyle, body);
}

}  // namespace megalith::report
