// Unicode for the splitters: UTF-8 that may be invalid, and the class of a code point.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// General categories of Unicode, in the groups of regular expressions: a range of values is \p{L} and so on.
enum class Category : u8 {
  unassigned,
  uppercase,
  titlecase,
  lowercase,
  modifier,
  other_letter,  // L
  nonspacing,
  spacing,
  enclosing,  // M
  digit,
  letter_number,
  other_number,  // N
  connector,
  dash,
  open,
  close,
  initial,
  final,
  other_punctuation,  // P
  math,
  currency,
  modifier_symbol,
  other_symbol,  // S
  space,
  line,
  paragraph,  // Z
  control,
  format,
  private_use,
  surrogate,  // C, with unassigned
};
constexpr bool is_letter(Category c) { return c >= Category::uppercase && c <= Category::other_letter; }
constexpr bool is_mark(Category c) { return c >= Category::nonspacing && c <= Category::enclosing; }
constexpr bool is_number(Category c) { return c >= Category::digit && c <= Category::other_number; }
constexpr bool is_punctuation(Category c) { return c >= Category::connector && c <= Category::other_punctuation; }

Category category_of(u32 code_point);  // kInvalid and values above U+10FFFF: unassigned
bool is_space(u32 code_point);         // the property White_Space, \s
// \w of Rust's regular expressions: Alphabetic, \p{M}, \p{Nd}, \p{Pc} and the two joiners.
bool is_word(u32 code_point);
// The sorted code points of the categories from `first` to `last`, e.g. \p{L} from uppercase to other_letter.
std::vector<u32> code_points_of(Category first, Category last);

// The classes that splitters distinguish. \p{L} has four parts, because some patterns depend on case: letters of
// upper-case runs only, of lower-case runs only, of both. Marks belong to both and are no letters.
enum class CharClass : u8 { other, number, space, mark, letter, upper, lower };
constexpr bool is_letter(CharClass c) { return c >= CharClass::letter; }

struct Utf8Char {
  static constexpr u32 kInvalid = ~0u;
  u32 code_point;  // kInvalid for bytes that are not UTF-8
  u32 length;      // bytes; of an invalid sequence up to its first wrong byte (Unicode's "maximal subpart"), at least 1
};

// The character at text[0]; size >= 1. Overlong forms, surrogates and values above U+10FFFF are invalid.
Utf8Char read_utf8(const u8* text, size_t size);

void append_utf8(std::string& out, u32 code_point);

// `bytes` with each invalid sequence replaced by one U+FFFD, as Python's decode(errors="replace") does.
std::string replace_invalid_utf8(std::string_view bytes);

// A two-level table over code points: blocks of 256, with equal blocks stored once.
class CodeTable {
 public:
  explicit CodeTable(const std::vector<u8>& all);  // of each of the 0x110000 code points
  u8 operator[](u32 code_point) const {
    return code_point > 0x10FFFF ? u8{0} : values_[block_[code_point >> 8] * 256u + (code_point & 255)];
  }

 private:
  std::vector<u16> block_;
  std::vector<u8> values_;
};

class ClassTable {
 public:
  ClassTable();
  CharClass operator[](u32 code_point) const { return CharClass(table_[code_point]); }

 private:
  CodeTable table_;
};
const ClassTable& class_table();  // the shared table, made on first use

}  // namespace megalith
