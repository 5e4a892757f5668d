// The splitters compared with PCRE2 and their patterns. PCRE2 may have another Unicode version: only code points that
// it knows are used.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokens/cased_split.h"
#include "tokens/gpt2_split.h"
#include "tokens/llama_split.h"
#include "tokens/split_pattern.h"

#include <pcre2.h>

#include "tests/tokens/helpers.h"

namespace megalith {

namespace {

// \s as a list, because PCRE2's own also has U+180E.
const std::string kSpace = R"(\x09-\x0d\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

class Pcre {
 public:
  explicit Pcre(const std::string& pattern) {
    int error = 0;
    PCRE2_SIZE at = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP, &error,
                          &at, nullptr);
    EXPECT_NE(code_, nullptr) << "error " << error << " at " << at;
    match_ = pcre2_match_data_create_from_pattern(code_, nullptr);
  }
  Pcre(const Pcre&) = delete;
  Pcre& operator=(const Pcre&) = delete;
  ~Pcre() {
    pcre2_match_data_free(match_);
    pcre2_code_free(code_);
  }
  // End of the match at `from`, or npos.
  size_t match(const std::string& text, size_t from = 0) const {
    const int found = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                  PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK, match_, nullptr);
    return found < 0 ? std::string::npos : pcre2_get_ovector_pointer(match_)[1];
  }

 private:
  pcre2_code* code_;
  pcre2_match_data* match_;
};

std::string utf8(u32 c) {
  std::string s;
  append_utf8(s, c);
  return s;
}

// Code points that PCRE2 has assigned, without surrogates.
std::vector<u32> assigned() {
  const Pcre unassigned(R"(\p{Cn})");
  std::vector<u32> points;
  for (u32 c = 0; c <= 0x10FFFF; ++c) {
    if ((c < 0xD800 || c > 0xDFFF) && unassigned.match(utf8(c)) == std::string::npos) points.push_back(c);
  }
  return points;
}

bool pcre_is_newer() {
  char version[32] = "";
  pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version);
  return std::stoi(version) > 16;
}

std::string random_text(std::mt19937& random, const std::vector<u32>& points) {
  const std::string marks[] = {" ", "  ", "\n",     "\r\n",   "\t",      "'", "'s", "'ll",    "'re", "'S",    "a",
                               "9", ".",  "\u3000", "\u00a0", "'\u017f", "/", "A",  "\u0301", "Ab",  "\u4e00"};
  std::string text;
  const u32 length = random() % 40, near = random() % points.size();
  for (u32 i = 0; i < length; ++i) {
    switch (random() % 4) {
      case 0:
        text += marks[random() % std::size(marks)];
        break;
      case 1:
        text += char(32 + random() % 95);
        break;
      case 2:
        append_utf8(text, points[random() % points.size()]);
        break;
      default:
        append_utf8(text, points[std::min<size_t>(near + random() % 50, points.size() - 1)]);
    }
  }
  return text;
}

}  // namespace

TEST(Unicode, classes_equal_pcre2) {
  const struct {
    CharClass type;
    Pcre pattern;
  } classes[] = {
      {CharClass::upper, Pcre(R"([\p{Lu}\p{Lt}])")},  {CharClass::lower, Pcre(R"(\p{Ll})")},
      {CharClass::letter, Pcre(R"([\p{Lm}\p{Lo}])")}, {CharClass::mark, Pcre(R"(\p{M})")},
      {CharClass::number, Pcre(R"(\p{N})")},          {CharClass::space, Pcre("[" + kSpace + "]")},
  };
  // Letters whose category changed in later versions of Unicode.
  const bool newer = pcre_is_newer();
  for (u32 c : assigned()) {
    const std::string s = utf8(c);
    CharClass want = CharClass::other;
    for (const auto& [type, pattern] : classes) {
      if (pattern.match(s) != std::string::npos) want = type;
    }
    if (newer && class_table()[c] == CharClass::other) continue;
    ASSERT_EQ(class_table()[c], want) << std::hex << c;
  }
}

namespace {

std::string without_perl_space(std::string_view regex) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < regex.size(); ++i) {
    if (regex[i] == '[') in_class = true;
    if (regex[i] == ']') in_class = false;
    const std::string two(regex.substr(i, 2));
    if (two == "\\s") {
      out += in_class ? kSpace : "[" + kSpace + "]", ++i;
    } else if (two == "\\S") {
      out += "[^" + kSpace + "]", ++i;
    } else if (two[0] == '\\') {
      out += two, ++i;
    } else {
      out += regex[i];
    }
  }
  return out;
}

template <class Split>
void expect_equal_to_pcre2(SplitPattern name) {
  const Pcre pattern(without_perl_space(regex_of(name)));
  std::vector<u32> points = assigned();
  if (pcre_is_newer()) points.resize(size_t(std::lower_bound(points.begin(), points.end(), 0x1000u) - points.begin()));
  std::mt19937 random(7);
  for (int round = 0; round < 30000; ++round) {
    const std::string text = random_text(random, points);
    const Split split(text);
    for (size_t i = 0; i < text.size();) {
      const size_t end = split.piece_end(i);
      ASSERT_EQ(end, pattern.match(text, i)) << "round " << round << ", from byte " << i << " of: " << text;
      i = end;
    }
  }
}

template <class Split>
void expect_covers_any_bytes() {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_bytes(random, random() % 60);
    const Split split(text);
    for (size_t i = 0; i < text.size();) {
      const size_t end = split.piece_end(i);
      ASSERT_GT(end, i);
      ASSERT_LE(end, text.size());
      i = end;
    }
  }
}

}  // namespace

TEST(Split, gpt2_equals_pcre2_on_random_text) { expect_equal_to_pcre2<Gpt2Split>(SplitPattern::gpt2); }
TEST(Split, llama3_equals_pcre2_on_random_text) { expect_equal_to_pcre2<Llama3Split>(SplitPattern::llama3); }
TEST(Split, qwen_equals_pcre2_on_random_text) { expect_equal_to_pcre2<QwenSplit>(SplitPattern::qwen); }
TEST(Split, cl100k_equals_pcre2_on_random_text) { expect_equal_to_pcre2<Cl100kSplit>(SplitPattern::cl100k); }
TEST(Split, o200k_equals_pcre2_on_random_text) { expect_equal_to_pcre2<O200kSplit>(SplitPattern::o200k); }
TEST(Split, megatron_v1_equals_pcre2_on_random_text) {
  expect_equal_to_pcre2<MegatronV1Split>(SplitPattern::megatron_v1);
}
TEST(Split, megatron_v2_equals_pcre2_on_random_text) {
  expect_equal_to_pcre2<MegatronV2Split>(SplitPattern::megatron_v2);
}

TEST(Split, covers_bytes_that_are_not_utf8) {
  expect_covers_any_bytes<Gpt2Split>();
  expect_covers_any_bytes<Llama3Split>();
  expect_covers_any_bytes<Cl100kSplit>();
  expect_covers_any_bytes<O200kSplit>();
  expect_covers_any_bytes<MegatronV2Split>();
}

TEST(Unicode, broken_utf8_becomes_one_mark_per_sequence) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(replace_invalid_utf8("a\xE4\xBD"), "a" + mark);
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\n"), mark + "\n");
  EXPECT_EQ(replace_invalid_utf8("\xA0\xA0"), mark + mark);
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF"), mark + mark);                        // overlong
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), mark + mark + mark);             // a surrogate
  EXPECT_EQ(replace_invalid_utf8("\xF4\x90\x80\x80"), mark + mark + mark + mark);  // above U+10FFFF
  EXPECT_EQ(replace_invalid_utf8("\xF4\x8F\xBF\xBF é"), "\xF4\x8F\xBF\xBF é");
}

}  // namespace megalith
