// Cuts text into the pieces of GPT-2's pattern without a regex engine:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Every character belongs to one piece. Bytes that are not UTF-8 count as characters of the class "none of the three".
// In a header so that the encoder's loop over words is compiled as one.
#pragma once
#include <array>
#include <string_view>

#include "tokens/unicode.h"

namespace megalith {

class Gpt2Split {
 public:
  explicit Gpt2Split(std::string_view text)
      : text_(reinterpret_cast<const u8*>(text.data())), end_(text.size()), table_(class_table()) {}

  // End of the piece that begins at i, 0 <= i < text.size().
  size_t piece_end(size_t i) const {
    if (text_[i] == '\'') {
      if (const size_t length = contraction(i)) return i + length;
    }
    const size_t k = text_[i] == ' ' && i + 1 < end_ ? i + 1 : i;
    const Found c = at(k);
    return c.type == CharClass::space ? spaces(i) : run(k + c.length, c.type);
  }

 private:
  struct Found {
    CharClass type;
    u32 length;
  };

  static constexpr u8 kMultibyte = 4;  // beyond the values of CharClass: not ASCII, ask the table
  static constexpr std::array<u8, 256> kAscii = [] {
    std::array<u8, 256> t{};
    for (int c = 0; c < 256; ++c) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), space = c == ' ' || (c >= 9 && c <= 13);
      const CharClass ascii = letter                 ? CharClass::letter
                              : c >= '0' && c <= '9' ? CharClass::number
                              : space                ? CharClass::space
                                                     : CharClass::other;
      t[c] = c < 128 ? u8(ascii) : kMultibyte;
    }
    return t;
  }();

  Found at(size_t k) const {
    const u8 ascii = kAscii[text_[k]];
    if (ascii != kMultibyte) return {CharClass(ascii), 1};
    const Utf8Char c = read_utf8(text_ + k, end_ - k);
    return {table_[c.code_point], c.length};
  }

  // End of the longest run of `type` from k on.
  size_t run(size_t k, CharClass type) const {
    while (k < end_) {
      const u8 ascii = kAscii[text_[k]];
      if (ascii == u8(type)) {
        ++k;
        continue;
      }
      if (ascii != kMultibyte) break;
      const Found c = at(k);
      if (c.type != type) break;
      k += c.length;
    }
    return k;
  }

  // \s+(?!\S)|\s+ : all the white space, but its last character is left to the word that follows unless it is the only
  // one.
  size_t spaces(size_t i) const {
    size_t last = i, k = i;
    while (k < end_) {
      const Found c = at(k);
      if (c.type != CharClass::space) return last == i ? k : last;
      last = k;
      k += c.length;
    }
    return k;
  }

  // Length of 's 't 'm 'd 're 've 'll at i, or 0.
  size_t contraction(size_t i) const {
    const u8 a = i + 1 < end_ ? text_[i + 1] : 0, b = i + 2 < end_ ? text_[i + 2] : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
  }

  const u8* text_;
  size_t end_;
  const ClassTable& table_;
};

}  // namespace megalith
