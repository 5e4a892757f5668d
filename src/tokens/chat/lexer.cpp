#include "tokens/chat/lexer.h"

#include <algorithm>

#include "base/check.h"
#include "tokens/chat/python_text.h"
#include "tokens/chat/string_literal.h"

namespace megalith::chat {

namespace {

constexpr std::string_view kLongSigns[] = {"==", "!=", "<=", ">=", "//", "**"};
constexpr std::string_view kSigns = "+-/*%~[](){}<>=.:|,;";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || u8(c) >= 0x80; }

// "\r\n" and "\r" are also line ends. The last line end is dropped.
std::string normalized(std::string_view source) {
  std::string out = replace_all(replace_all(source, "\r\n", "\n"), "\r", "\n");
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Cutter {
  using Kind = Token::Kind;

 public:
  explicit Cutter(const std::string& source) : rest_(source) {}

  std::vector<Token> cut() {
    while (!rest_.empty()) {
      const size_t at = next_tag();
      if (at == std::string_view::npos) {
        add_text(rest_);
        take(rest_.size());
        break;
      }
      tag(at);
    }
    add(Kind::end, "");
    return std::move(out_);
  }

 private:
  size_t next_tag() const {
    for (size_t at = 0; (at = rest_.find('{', at)) != std::string_view::npos; ++at)
      if (at + 1 < rest_.size() && std::string_view("{%#").find(rest_[at + 1]) != std::string_view::npos) return at;
    return std::string_view::npos;
  }

  void add(Kind kind, std::string_view text) { out_.push_back({kind, std::string(text), line_}); }
  void add_text(std::string_view text) {
    if (!text.empty()) add(Kind::text, text);
  }
  // Skips n bytes.
  void take(size_t n) {
    if (n == 0) return;
    line_ += int(std::count(rest_.begin(), rest_.begin() + std::ptrdiff_t(n), '\n'));
    at_line_start_ = rest_[n - 1] == '\n';
    rest_.remove_prefix(n);
  }
  void take_blanks() { take(rest_.size() - strip_left(rest_).size()); }

  // The text before the tag at `at`, then the tag.
  void tag(size_t at) {
    const char kind = rest_[at + 1];
    const char sign = at + 2 < rest_.size() ? rest_[at + 2] : ' ';
    std::string_view before = rest_.substr(0, at);
    if (sign == '-')
      before = strip_right(before);
    else if (kind != '{' && sign != '+')
      before = without_indent(before);
    add_text(before);
    take(at + 2 + (sign == '-' || (sign == '+' && kind != '{')));
    if (kind == '#')
      comment();
    else if (kind == '{')
      inside(Kind::print_begin, Kind::print_end, "}}");
    else if (!raw())
      inside(Kind::block_begin, Kind::block_end, "%}");
  }

  // lstrip_blocks: the first tag of a line removes the blanks before it.
  std::string_view without_indent(std::string_view text) const {
    const size_t begin = text.rfind('\n') + 1;
    if (begin == 0 && !at_line_start_) return text;
    return strip(text.substr(begin)).empty() ? text.substr(0, begin) : text;
  }

  // After a tag: "-" removes white space. Otherwise a block or comment removes one line end (trim_blocks), except
  // with "+".
  bool end_of_tag(std::string_view end) {
    const bool signs = end != "}}";
    const bool minus = rest_.starts_with('-') && rest_.substr(1).starts_with(end);
    const bool plus = signs && rest_.starts_with('+') && rest_.substr(1).starts_with(end);
    if (!minus && !plus && !rest_.starts_with(end)) return false;
    take(size_t(minus || plus) + end.size());
    if (minus)
      take_blanks();
    else if (signs && !plus && rest_.starts_with('\n'))
      take(1);
    return true;
  }

  void comment() {
    const int begun = line_;
    while (!end_of_tag("#}")) {
      check(!rest_.empty(), "line {}: a comment has no end: want #}}", begun);
      take(1);
    }
  }

  // {% raw %} .. {% endraw %}, whose content is text. The "{%" is already read.
  bool raw() {
    const std::string_view body = strip_left(rest_);
    if (!body.starts_with("raw")) return false;
    const std::string_view behind = strip_left(body.substr(3));
    if (!behind.starts_with("%}") && !behind.starts_with("-%}")) return false;
    const int begun = line_;
    take(size_t(behind.data() - rest_.data()));
    end_of_tag("%}");
    for (size_t at = 0; (at = rest_.find("{%", at)) != std::string_view::npos; ++at) {
      const bool minus = rest_.substr(at + 2).starts_with('-');
      const std::string_view word = strip_left(rest_.substr(at + 2 + minus));
      if (!word.starts_with("endraw")) continue;
      const std::string_view end = strip_left(word.substr(6));
      if (!end.starts_with("%}") && !end.starts_with("-%}")) continue;
      const std::string_view text = rest_.substr(0, at);
      add_text(minus ? strip_right(text) : without_indent(text));
      take(size_t(end.data() - rest_.data()));
      return end_of_tag("%}");
    }
    fail("line {}: {{% raw %}} has no {{% endraw %}}", begun);
  }

  void inside(Kind begin, Kind end, std::string_view mark) {
    add(begin, "");
    const int begun = line_;
    int open = 0;  // open brackets; inside them the mark is a pair of brackets
    for (;;) {
      take_blanks();
      check(!rest_.empty(), "line {}: a tag has no end: want {}", begun, mark);
      if (open == 0 && end_of_tag(mark)) break;
      word(open);
    }
    add(end, "");
  }

  void word(int& open) {
    const char c = rest_[0];
    if (begins_name(c)) return name();
    if (is_digit(c)) return digits();
    if (c == '"' || c == '\'') return string(c);
    for (const std::string_view sign : kLongSigns)
      if (rest_.starts_with(sign)) return add(Kind::sign, sign), take(2);
    check(kSigns.find(c) != std::string_view::npos, "line {}: the sign {} has no meaning here", line_,
          repr(characters(rest_.substr(0, 4))[0]));
    if (std::string_view("([{").find(c) != std::string_view::npos) ++open;
    if (std::string_view(")]}").find(c) != std::string_view::npos) --open;
    check(open >= 0, "line {}: '{}' closes nothing", line_, c);
    add(Kind::sign, rest_.substr(0, 1)), take(1);
  }

  void name() {
    size_t n = 1;
    while (n < rest_.size() && (begins_name(rest_[n]) || is_digit(rest_[n]))) ++n;
    add(Kind::name, rest_.substr(0, n)), take(n);
  }

  void digits() {
    size_t n = 0;
    const auto run = [&] {
      while (n < rest_.size() && is_digit(rest_[n])) ++n;
    };
    run();
    bool whole = true;
    if (n + 1 < rest_.size() && rest_[n] == '.' && is_digit(rest_[n + 1])) ++n, run(), whole = false;
    const bool signed_exponent = n + 2 < rest_.size() && (rest_[n + 1] == '-' || rest_[n + 1] == '+');
    if (n + 1 < rest_.size() && (rest_[n] == 'e' || rest_[n] == 'E') &&
        is_digit(rest_[n + 1 + size_t(signed_exponent)]))
      n += 1 + size_t(signed_exponent), run(), whole = false;
    check(n == rest_.size() || !begins_name(rest_[n]), "line {}: \"{}\" is not a number", line_,
          rest_.substr(0, n + 1));
    add(whole ? Kind::whole : Kind::number, rest_.substr(0, n)), take(n);
  }

  void string(char quote) {
    size_t n = 1;
    for (; n < rest_.size() && rest_[n] != quote; ++n) n += rest_[n] == '\\';
    check(n < rest_.size(), "line {}: a string has no end: want {}", line_, quote);
    add(Kind::string, unescaped(rest_.substr(1, n - 1), line_)), take(n + 1);
  }

  std::string_view rest_;
  int line_ = 1;
  bool at_line_start_ = true;
  std::vector<Token> out_;
};

}  // namespace

std::vector<Token> cut_template(std::string_view source) {
  const std::string text = normalized(source);
  return Cutter(text).cut();
}

}  // namespace megalith::chat
