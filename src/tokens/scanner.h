// Shared code of the hand-written splitters: character classes with a fast path for ASCII, runs, white space,
// contractions. Invalid bytes count as class "other". It is a header so that the compiler can inline it into the
// encoder's loop.
#pragma once
#include <array>
#include <string_view>

#include "tokens/unicode.h"

namespace megalith {

using ClassSet = u8;  // one bit per CharClass, the top bit for "not ASCII"
constexpr ClassSet class_set_of(CharClass c) { return ClassSet(1u << u8(c)); }

class Scanner {
 public:
  explicit Scanner(std::string_view text)
      : text_(reinterpret_cast<const u8*>(text.data())), end_(text.size()), table_(class_table()) {}

 protected:
  using Set = ClassSet;

  static constexpr Set kLetters =
      class_set_of(CharClass::letter) | class_set_of(CharClass::upper) | class_set_of(CharClass::lower);
  static constexpr Set kNumbers = class_set_of(CharClass::number);
  static constexpr Set kSpaces = class_set_of(CharClass::space);
  static constexpr Set kOthers = class_set_of(CharClass::other) | class_set_of(CharClass::mark);
  static constexpr Set kMultibyte = 0x80;

  static constexpr std::array<u8, 256> kAscii = [] {
    std::array<u8, 256> t{};
    for (int c = 0; c < 256; ++c) {
      const CharClass ascii = c >= 'a' && c <= 'z'              ? CharClass::lower
                              : c >= 'A' && c <= 'Z'            ? CharClass::upper
                              : c >= '0' && c <= '9'            ? CharClass::number
                              : c == ' ' || (c >= 9 && c <= 13) ? CharClass::space
                                                                : CharClass::other;
      t[c] = c < 128 ? class_set_of(ascii) : kMultibyte;
    }
    return t;
  }();

  struct FoundSet {
    Set set;  // of one class
    u32 length;
  };
  FoundSet at(size_t k) const {
    const Set ascii = kAscii[text_[k]];
    if (ascii != kMultibyte) [[likely]]
      return {ascii, 1};
    const Utf8Char c = read_utf8(text_ + k, end_ - k);
    return {class_set_of(table_[c.code_point]), c.length};
  }

  // End of the longest run of characters in `set` from k on.
  size_t run(size_t k, Set set) const {
    while (k < end_) {
      const Set ascii = kAscii[text_[k]];
      if (ascii & set) {
        ++k;
        continue;
      }
      if (ascii != kMultibyte) break;
      const FoundSet c = at(k);
      if (!(c.set & set)) break;
      k += c.length;
    }
    return k;
  }

  // The same, at most `most` characters.
  size_t run_at_most(size_t k, Set set, int most) const {
    for (; most > 0 && k < end_; --most) {
      const FoundSet c = at(k);
      if (!(c.set & set)) break;
      k += c.length;
    }
    return k;
  }

  bool is_newline(size_t k) const { return text_[k] == '\n' || text_[k] == '\r'; }

  // \s+(?!\S)|\s+ : all the white space, except that its last character goes to the next word, unless it is the only
  // one.
  size_t spaces(size_t i) const {
    size_t last = i, k = i;
    while (k < end_) {
      const FoundSet c = at(k);
      if (c.set != kSpaces) return last == i ? k : last;
      last = k;
      k += c.length;
    }
    return k;
  }

  // \s*[\r\n]+|\s+(?!\S)|\s+ : up to the last newline of the white space, else as spaces(). With `whole_end`, white
  // space at the end of the text is one piece.
  size_t spaces_or_newlines(size_t i, bool whole_end) const {
    size_t last = i, k = i, newline = 0;
    while (k < end_) {
      const FoundSet c = at(k);
      if (c.set != kSpaces) break;
      if (is_newline(k)) newline = k + 1;
      last = k;
      k += c.length;
    }
    if (k == end_ && (whole_end || newline == 0)) return k;
    if (newline > 0) return newline;
    return last == i ? k : last;
  }

  // 's 't 'm 'd 're 've 'll with the apostrophe at i: the total length, or 0.
  size_t contraction(size_t i) const {
    const u8 a = i + 1 < end_ ? text_[i + 1] : 0, b = i + 2 < end_ ? text_[i + 2] : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
  }

  // The same in any case, (?i:...). U+017F, the long s, is also an s.
  size_t contraction_any_case(size_t i) const {
    const auto lower = [&](size_t k) -> u8 { return k < end_ && (kAscii[text_[k]] & kLetters) ? text_[k] | 0x20 : 0; };
    const u8 a = lower(i + 1), b = lower(i + 2);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if (i + 2 < end_ && text_[i + 1] == 0xC5 && text_[i + 2] == 0xBF) return 3;
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
  }

  const u8* text_;
  size_t end_;
  const ClassTable& table_;
};

}  // namespace megalith
