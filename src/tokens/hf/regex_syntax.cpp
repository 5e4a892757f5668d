// Where Oniguruma with Ruby's syntax and PCRE2 differ: \s \w \d \h, \uHHHH, the option m, and the version of Unicode:
// PCRE2 may know less, so \p{...} gets what it lacks. Class intersections, nested classes and {n,m}+, which PCRE2 reads
// otherwise, are refused.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "tokens/hf/regex.h"
#include "tokens/unicode.h"

namespace megalith::hf {

namespace {

constexpr std::string_view kSpaces =
    R"(\x09-\x0d\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
// Oniguruma's \w: as Unicode says but with the superscript digits and fractions of Latin-1, without the joiners.
constexpr std::string_view kCircled =
    R"(\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

using C = Category;
struct Named {
  std::string_view name;
  C first, last;
};
constexpr Named kCategories[] = {
    {"L", C::uppercase, C::other_letter},
    {"Lu", C::uppercase, C::uppercase},
    {"Lt", C::titlecase, C::titlecase},
    {"Ll", C::lowercase, C::lowercase},
    {"Lm", C::modifier, C::modifier},
    {"Lo", C::other_letter, C::other_letter},
    {"M", C::nonspacing, C::enclosing},
    {"Mn", C::nonspacing, C::nonspacing},
    {"Mc", C::spacing, C::spacing},
    {"Me", C::enclosing, C::enclosing},
    {"N", C::digit, C::other_number},
    {"Nd", C::digit, C::digit},
    {"Nl", C::letter_number, C::letter_number},
    {"No", C::other_number, C::other_number},
    {"P", C::connector, C::other_punctuation},
    {"Pc", C::connector, C::connector},
    {"Po", C::other_punctuation, C::other_punctuation},
    {"S", C::math, C::other_symbol},
    {"Sc", C::currency, C::currency},
    {"So", C::other_symbol, C::other_symbol},
};

// What PCRE2 does not know as assigned but our tables do, by name of category: as ranges for a class.
std::map<std::string, std::string, std::less<>> find_newer() {
  std::string all;
  for (u32 c : code_points_of(C::uppercase, C::other_symbol)) append_utf8(all, c);
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>("\\p{Cn}"), PCRE2_ZERO_TERMINATED,
                                   PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr);
  if (!code) return {};
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  pcre2_match_data* match = pcre2_match_data_create_from_pattern(code, nullptr);
  std::vector<u32> newer;
  for (size_t from = 0; pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(all.data()), all.size(), from,
                                    PCRE2_NO_UTF_CHECK, match, nullptr) >= 0;) {
    const PCRE2_SIZE* span = pcre2_get_ovector_pointer(match);
    newer.push_back(read_utf8(reinterpret_cast<const u8*>(all.data()) + span[0], span[1] - span[0]).code_point);
    from = span[1];
  }
  pcre2_match_data_free(match);
  pcre2_code_free(code);
  std::map<std::string, std::string, std::less<>> ranges;
  std::sort(newer.begin(), newer.end());
  for (const Named& n : kCategories) {
    std::string& text = ranges[std::string(n.name)];
    for (size_t i = 0; i < newer.size();) {
      const auto is_one = [&](u32 c) { return category_of(c) >= n.first && category_of(c) <= n.last; };
      if (!is_one(newer[i])) {
        ++i;
        continue;
      }
      size_t j = i;
      while (j + 1 < newer.size() && newer[j + 1] == newer[j] + 1 && is_one(newer[j + 1])) ++j;
      text += fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", newer[i], newer[j]);
      i = j + 1;
    }
  }
  return ranges;
}

std::string_view newer_of(std::string_view category) {
  static const auto all = find_newer();
  const auto found = all.find(category);
  return found == all.end() ? std::string_view() : found->second;
}

std::string category(std::string_view name) { return fmt::format("\\p{{{}}}{}", name, newer_of(name)); }

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

  // Members of a class; outside of one, the class of them.
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
    const std::string word =
        category("L") + category("M") + category("Nd") + category("Pc") + category("Nl") + std::string(kCircled);
    switch (c) {
      case 's':
        members(kSpaces);
        break;
      case 'S':
        members(kSpaces, true);
        break;
      case 'd':
        members(category("Nd"));
        break;
      case 'D':
        members(category("Nd"), true);
        break;
      case 'w':
        members(word);
        break;
      case 'W':
        members(word, true);
        break;
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
    if (newer_of(name).empty()) {
      out_ += fmt::format("\\{}{{{}}}", negative ? 'P' : 'p', name);
    } else if (in_class_ && negative) {
      out_ += fmt::format("\\P{{{}}}", name);
    } else {
      members(category(name), negative);
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
      return put(end + 2 - i_);
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

  // Ruby's m lets the dot match newlines, which is s in PCRE2.
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
