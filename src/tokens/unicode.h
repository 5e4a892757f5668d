// What the splitters need to know of Unicode: reading UTF-8 that may be broken, and the class of a code point.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// \p{L}, \p{N}, \s (the property White_Space), and all the rest.
enum class CharClass : u8 { other, letter, number, space };

struct Utf8Char {
  static constexpr u32 kInvalid = ~0u;
  u32 code_point;  // kInvalid for bytes that are not UTF-8
  u32 length;  // bytes; of invalid ones those up to where the sequence broke (Unicode's "maximal subpart"), at least 1
};

// The character at text[0]; size >= 1. Overlong forms, surrogates and values above U+10FFFF are invalid.
Utf8Char read_utf8(const u8* text, size_t size);

void append_utf8(std::string& out, u32 code_point);

// `bytes` with each invalid sequence replaced by one U+FFFD, as Python's decode(errors="replace") does.
std::string replace_invalid_utf8(std::string_view bytes);

// Classes in two steps: blocks of 256 code points, equal blocks stored once.
class ClassTable {
 public:
  ClassTable();
  CharClass operator[](u32 code_point) const {
    return code_point > 0x10FFFF ? CharClass::other : classes_[block_[code_point >> 8] * 256u + (code_point & 255)];
  }

 private:
  std::vector<u8> block_;
  std::vector<CharClass> classes_;
};
const ClassTable& class_table();  // the one table, made on first use

}  // namespace megalith
