#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokens/hf/regex_sets.h"

#include <fmt/core.h>
#include <pcre2.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tokens/unicode.h"

namespace megalith::hf {

namespace {

constexpr std::string_view kSpaces =
    R"(\x09-\x0d\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
// Oniguruma's \w: Unicode's, with the superscript digits and fractions of Latin-1, and without the joiners.
constexpr std::string_view kCircled = R"(\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
constexpr std::string_view kRaised = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
constexpr std::string_view kNewerHan = R"(\x{2b739}\x{2ebf0}-\x{2ee5d}\x{31350}-\x{323af})";  // of Unicode 15

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

// The characters that our tables assign and PCRE2 does not, by category, as ranges of a class.
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

}  // namespace

// Whether PCRE2 knows it as a script. For \p{Han} PCRE2 matches all characters in Han texts, Oniguruma only those
// that belong only to Han.
bool is_script(std::string_view name) {
  const std::string pattern = fmt::format("\\p{{sc:{}}}", name);
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF, &error, &at, nullptr);
  pcre2_code_free(code);
  return code != nullptr;
}

std::string space_members() { return std::string(kSpaces); }

std::string word_members() { return posix_members("word") + std::string(kRaised); }

std::string property_members(std::string_view name) {
  if (!is_script(name)) return category(name);
  return fmt::format("\\p{{sc:{}}}{}", name, name == "Han" ? kNewerHan : "");
}

std::string posix_members(std::string_view name) {
  const auto all = [](std::initializer_list<std::string_view> names) {
    std::string text;
    for (std::string_view n : names) text += category(n);
    return text;
  };
  if (name == "alpha") return "\\p{Alphabetic}" + std::string(newer_of("L")) + std::string(newer_of("Nl"));
  if (name == "alnum") return posix_members("alpha") + all({"Nd"});
  if (name == "upper") return "\\p{Uppercase}" + std::string(newer_of("Lu"));
  if (name == "lower") return "\\p{Lowercase}" + std::string(newer_of("Ll"));
  if (name == "digit") return all({"Nd"});
  if (name == "punct") return all({"P", "S"});
  if (name == "graph") return all({"L", "M", "N", "P", "S"}) + "\\p{Co}\\p{Cf}";
  if (name == "print") return posix_members("graph") + "\\p{Zs}";
  if (name == "blank") return "\\x09\\p{Zs}";
  if (name == "cntrl") return "\\p{Cc}";
  if (name == "space") return std::string(kSpaces);
  if (name == "word") return all({"L", "M", "Nd", "Pc", "Nl"}) + std::string(kCircled);
  if (name == "xdigit") return "0-9a-fA-F";
  if (name == "ascii") return "\\x00-\\x7f";
  return "";
}

}  // namespace megalith::hf
