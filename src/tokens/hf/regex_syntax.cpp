// Translates what differs between Oniguruma with Ruby's syntax and PCRE2: \b, \uHHHH, the option m and the sets of
// regex_sets.h. Class intersections, nested classes and {n,m}+ have another meaning in PCRE2, so they are refused.
#include <algorithm>

#include "base/check.h"
#include "tokens/hf/regex.h"
#include "tokens/hf/regex_sets.h"

namespace megalith::hf {

namespace {

class Translator {
 public:
  Translator(std::string_view pattern, std::string_view where) : p_(pattern), where_(where) {}

  std::string run() {
    while (i_ < p_.size()) {
      if (p_[i_] == '\\') {
        escape();
      } else if (in_class_) {
        inside();
      } else {
        outside();
      }
    }
    return out_;
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    fail("{}: the pattern \"{}\" has {}, which we don't have", where_, p_.substr(0, 200), what);
  }
  char peek(size_t k) const { return i_ + k < p_.size() ? p_[i_ + k] : '\0'; }

  void put(size_t count) {
    out_ += p_.substr(i_, count);
    i_ += count;
  }

  // Members of a class. Outside of a class they become a class.
  void members(std::string_view text, bool negative = false) {
    if (in_class_) {
      if (negative) refuse("a negated class within a class");
      out_ += text;
    } else {
      out_ += fmt::format("[{}{}]", negative ? "^" : "", text);
    }
  }

  void escape() {
    const char c = peek(1);
    class_begins_ = false;
    if (in_class_ && (c == 'S' || c == 'D' || c == 'W')) return put(2);
    if (c == 'p' || c == 'P') return property(c == 'P');
    if (c == 'u') return code_point();
    const std::string word = word_members();
    switch (c) {
      case 's':
        members(space_members());
        break;
      case 'S':
        members(space_members(), true);
        break;
      case 'd':
        members(property_members("Nd"));
        break;
      case 'D':
        members(property_members("Nd"), true);
        break;
      case 'w':
        members(word);
        break;
      case 'W':
        members(word, true);
        break;
      case 'b':
      case 'B': {
        if (in_class_) return put(2);
        const std::string_view first = c == 'b' ? "!" : "=", second = c == 'b' ? "=" : "!";
        out_ += fmt::format("(?:(?<=[{0}])(?{1}[{0}])|(?<![{0}])(?{2}[{0}]))", word, first, second);
        break;
      }
      case 'h':
        members("0-9a-fA-F");
        break;
      case 'H':
        members("0-9a-fA-F", true);
        break;
      default:
        return put(std::min<size_t>(2, p_.size() - i_));
    }
    i_ += 2;
  }

  // \p{L}, \p{^L}, \P{L}, \pL
  void property(bool negative) {
    size_t end = i_ + 3;
    std::string_view name = p_.substr(std::min(i_ + 2, p_.size()), 1);
    if (name == "{") {
      end = p_.find('}', i_);
      if (end == std::string_view::npos) refuse("a \\p{ without }");
      name = p_.substr(i_ + 3, end - i_ - 3);
      ++end;
    }
    if (name.starts_with('^')) negative = !negative, name.remove_prefix(1);
    const std::string members_of_it = property_members(name);
    if (in_class_ && negative) {
      out_ += fmt::format("\\P{{{}{}}}", is_script(name) ? "sc:" : "", name);
    } else {
      members(members_of_it, negative);
    }
    i_ = std::min(end, p_.size());
  }

  void code_point() {
    const std::string_view digits = p_.substr(std::min(i_ + 2, p_.size()), 4);
    const bool ok = digits.size() == 4 && digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
    if (!ok) refuse("a \\u without four digits");
    out_ += fmt::format("\\x{{{}}}", digits);
    i_ += 6;
  }

  void inside() {
    const char c = p_[i_];
    if (c == '[' && peek(1) == ':') {
      const size_t end = p_.find(":]", i_);
      if (end == std::string_view::npos) refuse("a [: without :]");
      const std::string members = posix_members(p_.substr(i_ + 2, end - i_ - 2));
      if (members.empty()) refuse("a class [:...:] of another name");
      out_ += members, i_ = end + 2, class_begins_ = false;
      return;
    }
    if (c == '[') refuse("a class within a class");
    if (c == '&' && peek(1) == '&') refuse("a class intersection (&&)");
    if (c == ']' && !class_begins_) in_class_ = false;
    class_begins_ = false;
    put(1);
  }

  void outside() {
    const char c = p_[i_];
    if (c == '[') {
      in_class_ = class_begins_ = true;
      return put(peek(1) == '^' ? 2 : 1);
    }
    if (c == '}' && peek(1) == '+' && out_.find_last_of('{') != std::string::npos &&
        out_.find_first_not_of("0123456789,", out_.find_last_of('{') + 1) == std::string::npos) {
      refuse("{n,m}+");
    }
    if (c == '(' && peek(1) == '?') return options();
    put(1);
  }

  // In Ruby, m lets the dot match newlines, as s does in PCRE2.
  void options() {
    size_t k = i_ + 2;
    while (k < p_.size() && (p_[k] == '-' || (p_[k] >= 'a' && p_[k] <= 'z'))) ++k;
    const bool is_options = k < p_.size() && (p_[k] == ')' || p_[k] == ':');
    if (!is_options) return put(2);
    for (; i_ < k; ++i_) out_ += p_[i_] == 'm' ? 's' : p_[i_];
  }

  std::string_view p_, where_;
  std::string out_;
  size_t i_ = 0;
  bool in_class_ = false, class_begins_ = false;
};

}  // namespace

std::string to_pcre2(std::string_view pattern, std::string_view where) { return Translator(pattern, where).run(); }

}  // namespace megalith::hf
