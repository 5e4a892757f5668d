#include "tokens/chat/python_format.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "tokens/chat/builtins.h"
#include "tokens/chat/python_text.h"

namespace megalith::chat {

namespace {

constexpr i64 kWidest = 100'000;

i64 take_number(std::string_view text, size_t& at) {
  i64 number = 0;
  for (; at < text.size() && std::isdigit(u8(text[at])); ++at) {
    number = 10 * number + (text[at] - '0');
    check(number <= kWidest, "a width or precision in \"{}\" is above {}", text.substr(0, 40), kWidest);
  }
  return number;
}

// %[(name)][flags][width][.precision]type
class Percent {
 public:
  Percent(std::string_view text, const Value& values) : text_(text), values_(values) {}

  std::string run() {
    std::string out;
    for (size_t at = text_.find('%'); at != std::string_view::npos; at = text_.find('%', at_)) {
      out += text_.substr(at_, at - at_);
      at_ = at + 1;
      out += one();
      check_size(out.size());
    }
    out += text_.substr(at_);
    const bool all = used_name_ || values_.dict() || taken_ == count();
    check(all, "not all values are used by the format \"{}\"", text_.substr(0, 40));
    return out;
  }

 private:
  size_t count() const { return values_.is_tuple() ? values_.list()->size() : 1; }

  const Value& next() {
    check(taken_ < count(), "too few values for the format \"{}\"", text_.substr(0, 40));
    const size_t k = taken_++;
    return values_.is_tuple() ? (*values_.list())[k] : values_;
  }

  std::string one() {
    const Value* named = nullptr;
    if (peek() == '(') {
      const size_t end = text_.find(')', at_);
      check(end != std::string_view::npos && values_.dict(), "a name in a format needs a mapping");
      named = values_.dict()->find(text_.substr(at_ + 1, end - at_ - 1));
      check(named != nullptr, "no value for \"{}\"", text_.substr(at_ + 1, end - at_ - 1));
      at_ = end + 1, used_name_ = true;
    }
    std::string flags;
    while (std::string_view("-+ 0#").find(peek()) != std::string_view::npos && peek()) flags += text_[at_++];
    const i64 width = take_number(text_, at_);
    i64 precision = -1;
    if (peek() == '.') precision = take_number(text_, ++at_);
    check(at_ < text_.size(), "a format ends with %");
    const char type = text_[at_++];
    if (type == '%') return "%";
    return shown(named ? *named : next(), type, flags, width, precision);
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string shown(const Value& v, char type, const std::string& flags, i64 width, i64 precision) const {
    const bool left = flags.find('-') != std::string::npos, zeros = flags.find('0') != std::string::npos && !left;
    std::string body;
    if (type == 's') {
      body = to_text(v);
      const auto letters = characters(body);
      if (precision >= 0 && precision < i64(letters.size()))
        body.resize(size_t(letters[size_t(precision)].data() - body.data()));
      return padded(body, width, ' ', left ? Pad::right : Pad::left);
    }
    double number = 0;
    check(std::string_view("diufFeEgGxXo").find(type) != std::string_view::npos, "%{} is no format that we have", type);
    check(v.number(number), "%{} needs a number, not {}", type, v.kind());
    const std::string_view sign = flags.find('+') != std::string::npos   ? "+"
                                  : flags.find(' ') != std::string::npos ? " "
                                                                         : "-";
    if (std::string_view("diuxXo").find(type) != std::string_view::npos) {
      i64 whole = 0;
      const bool is_whole = v.whole(whole);
      check(is_whole || (std::abs(number) < 9e18 && std::string_view("diu").find(type) != std::string_view::npos),
            "%{} needs a whole number, not {}", type, v.kind());
      if (!is_whole) whole = i64(number);
      const std::string spec = fmt::format(
          "{{:{}{}}}", sign, std::string_view("diu").find(type) == std::string_view::npos ? std::string(1, type) : "d");
      body = fmt::format(fmt::runtime(spec), whole);
    } else {
      body = fmt::format(fmt::runtime(fmt::format("{{:{}.{}{}}}", sign, precision < 0 ? 6 : precision, type)), number);
    }
    if (zeros && i64(body.size()) < width) {
      const size_t behind = body.empty() || std::isdigit(u8(body[0])) ? 0 : 1;
      body.insert(behind, size_t(width) - body.size(), '0');
    }
    return padded(body, width, ' ', left ? Pad::right : Pad::left);
  }

  std::string_view text_;
  const Value& values_;
  size_t at_ = 0, taken_ = 0;
  bool used_name_ = false;
};

std::string with_spec(const Value& v, std::string_view spec) {
  if (spec.empty()) return to_text(v);
  for (size_t at = 0; at < spec.size(); ++at)
    if (std::isdigit(u8(spec[at]))) take_number(spec, at), --at;
  const std::string format = fmt::format("{{:{}}}", spec);
  check(spec.find_first_of("{},_") == std::string_view::npos, "the format \"{}\" is not supported", spec);
  try {
    i64 whole = 0;
    double number = 0;
    if (v.string()) return fmt::format(fmt::runtime(format), *v.string());
    if (v.whole(whole) && std::string_view("fFeEgG%").find(spec.back()) == std::string_view::npos)
      return fmt::format(fmt::runtime(format), whole);
    check(v.number(number), "{} cannot be shown as \"{}\"", v.kind(), spec);
    return fmt::format(fmt::runtime(format), number);
  } catch (const fmt::format_error& e) {
    fail("the format \"{}\" is not supported: {}", spec, e.what());
  }
}

// name, 0 or nothing, then .attribute and [item].
Value field_of(std::string_view field, size_t& automatic, Call& c) {
  const size_t end = std::min(field.find_first_of(".["), field.size());
  const std::string_view first = field.substr(0, end);
  Value v;
  size_t place = 0;
  const auto [last, error] = std::from_chars(first.data(), first.data() + first.size(), place);
  if (first.empty())
    v = c.at(automatic, "value"), ++automatic;
  else if (error == std::errc() && last == first.data() + first.size())
    v = c.at(place, "value");
  else
    v = c.at(c.arguments.size(), first);
  for (field.remove_prefix(end); !field.empty();) {
    const bool item = field[0] == '[';
    const size_t stop = item ? field.find(']') : std::min(field.find_first_of(".[", 1), field.size());
    check(stop != std::string_view::npos, "']' is missing in a format");
    const std::string_view key = field.substr(1, stop - 1);
    const bool digits = item && !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == key.npos;
    v = item ? item_of(v, digits ? Value(i64(std::stol(std::string(key)))) : Value(key)) : attribute_of(v, key);
    field.remove_prefix(item ? stop + 1 : stop);
  }
  return v;
}

}  // namespace

std::string percent_format(std::string_view text, const Value& values, Budget& budget) {
  std::string out = Percent(text, values).run();
  budget.spend(i64(out.size()));
  return out;
}

std::string brace_format(std::string_view text, Call& c) {
  std::string out;
  size_t automatic = 0;
  for (size_t i = 0; i < text.size();) {
    const char letter = text[i];
    const bool twice = (letter == '{' || letter == '}') && text.substr(i + 1).starts_with(letter);
    if (twice || (letter != '{' && letter != '}')) {
      out += letter;
      i += twice ? 2 : 1;
      continue;
    }
    const size_t end = text.find('}', i);
    check(letter == '{' && end != std::string_view::npos, "a single {} stands in the format \"{}\"", letter,
          text.substr(0, 40));
    const std::string_view field = text.substr(i + 1, end - i - 1);
    const size_t colon = std::min(field.find(':'), field.size());
    check(field.find('!') == field.npos, "conversions with ! in a format are not supported");
    const Value v = field_of(field.substr(0, colon), automatic, c);
    out += with_spec(v, colon < field.size() ? field.substr(colon + 1) : std::string_view());
    check_size(out.size());
    i = end + 1;
  }
  c.budget.spend(i64(out.size()));
  return out;
}

bool float_of(std::string_view text, double& out) {
  std::string number(strip(text));
  if (number.find_first_of("xXpP") != std::string::npos || number.empty()) return false;  // strtod's hexadecimal
  char* end = nullptr;
  out = std::strtod(number.c_str(), &end);
  return end == number.c_str() + number.size() && number.find('(') == std::string::npos;
}

std::string padded(std::string_view text, i64 width, char fill, Pad where) {
  const i64 missing = std::max<i64>(width - count_characters(text), 0);
  // As Python's str.center: the larger half of an odd gap is on the left if the width is also odd.
  const i64 left = where == Pad::left ? missing : where == Pad::right ? 0 : missing / 2 + (missing & width & 1);
  return std::string(size_t(left), fill).append(text).append(size_t(missing - left), fill);
}

}  // namespace megalith::chat
