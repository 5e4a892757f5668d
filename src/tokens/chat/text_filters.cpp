// Filters of texts and numbers.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "tokens/chat/filter_tables.h"
#include "tokens/chat/python_format.h"
#include "tokens/chat/python_text.h"

namespace megalith::chat {

namespace {

Value format_text(const Value& v, Call& c) {
  check(c.arguments.empty() || c.named.empty(), "format takes values with or without names, not both");
  if (c.named.empty()) return percent_format(text_of(v, c), Value::tuple(c.arguments), c.budget);
  Dict names;
  for (const auto& [key, value] : c.named) names.set(key, value);
  return percent_format(text_of(v, c), Value(std::move(names)), c.budget);
}

Value absolute(const Value& v, Call& c) {
  double number = 0;
  check(v.number(number), "abs needs a number, not {}", v.kind());
  return number < 0 ? binary("-", Value(i64{0}), v, c.budget) : v;
}

Value to_float(const Value& v, Call& c) {
  const Value* given = c.find(0, "default");
  double number = 0;
  if (v.number(number) || (v.string() && float_of(*v.string(), number))) return number;
  return given ? *given : Value(0.0);
}

Value round_number(const Value& v, Call& c) {
  double number = 0;
  const i64 places = c.whole(0, "precision", 0);
  const std::string_view method = c.text(1, "method", "common");
  check(v.number(number), "round needs a number, not {}", v.kind());
  check(places >= -300 && places <= 300, "round keeps -300 to 300 places, not {}", places);
  const double scale = std::pow(10.0, double(places));
  if (method == "ceil") return std::ceil(number * scale) / scale;
  if (method == "floor") return std::floor(number * scale) / scale;
  check(method == "common", "round knows common, ceil and floor, not \"{}\"", method);
  i64 whole = 0;
  if (v.whole(whole) && places >= 0) return whole;
  check(places >= 0, "round to tens is not supported");
  return std::strtod(fmt::format("{:.{}f}", number, places).c_str(), nullptr);
}

Value indent_text(const Value& v, Call& c) {
  const Value* width = c.find(0, "width");
  const Value *first = c.find(1, "first"), *blank = c.find(2, "blank");
  const i64 spaces = width && width->string() ? 0 : c.whole(0, "width", 4);
  check(spaces <= 1000, "indent takes 1000 spaces at most, not {}", spaces);
  const std::string by =
      width && width->string() ? *width->string() : std::string(size_t(std::max<i64>(spaces, 0)), ' ');
  const std::string text = text_of(v, c) + "\n";
  std::string out;
  bool begun = false;
  for (const std::string_view line : split_lines(text)) {
    const bool indents = begun ? !line.empty() || (blank && blank->truth()) : first && first->truth();
    if (begun) out += '\n';
    if (indents) out += by;
    out += line;
    begun = true;
    check_size(out.size());
  }
  c.budget.spend(i64(out.size()));
  return out;
}

Value center_text(const Value& v, Call& c) {
  const std::string text = text_of(v, c);
  const i64 width = c.whole(0, "width", 80);
  check(width <= i64(kMostBytes), "center takes {} at most, not {}", kMostBytes, width);
  return padded(text, width, ' ', Pad::both);
}

Value escape_html(const Value& v, Call& c) {
  std::string out;
  for (const char letter : text_of(v, c)) {
    switch (letter) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

Value truncate_text(const Value& v, Call& c) {
  const std::string text = text_of(v, c);
  const Value *whole = c.find(1, "killwords"), *behind = c.find(2, "end");
  const std::string end = behind ? to_text(*behind) : "...";
  const i64 length = c.whole(0, "length", 255), leeway = c.whole(3, "leeway", 5), kept = length - count_characters(end);
  check(kept >= 0 && leeway >= 0, "truncate needs a length that its end fits in, not {}", length);
  const auto letters = characters(text);
  if (i64(letters.size()) <= length + leeway) return text;
  const std::string_view begin = std::string_view(text).substr(0, size_t(letters[size_t(kept)].data() - text.data()));
  const size_t space = whole && whole->truth() ? std::string_view::npos : begin.rfind(' ');
  return std::string(begin.substr(0, space)) + end;
}

constexpr FilterRow kTextFilters[] = {{"abs", absolute},       {"center", center_text}, {"e", escape_html},
                                      {"escape", escape_html}, {"float", to_float},     {"format", format_text},
                                      {"indent", indent_text}, {"round", round_number}, {"truncate", truncate_text}};

}  // namespace

std::span<const FilterRow> text_filters() { return kTextFilters; }

}  // namespace megalith::chat
