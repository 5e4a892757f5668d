#include "tokens/unicode.h"

#include <algorithm>
#include <map>
#include <span>

#include "tokens/unicode_ranges.h"

namespace megalith {

namespace {

constexpr CodeRange kSpaces[] = {{0x9, 0xD},       {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},
                                 {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                                 {0x205F, 0x205F}, {0x3000, 0x3000}};

// For a first byte: the number of bytes, and the allowed range of the second byte (Unicode standard, table 3-7).
// Length 1 is ASCII; 0 never begins a character.
struct Lead {
  u32 length;
  u8 low, high;
};
Lead lead_of(u8 c) {
  if (c < 0x80) return {1, 0, 0};
  if (c < 0xC2 || c > 0xF4) return {0, 0, 0};
  if (c < 0xE0) return {2, 0x80, 0xBF};
  if (c < 0xF0) return {3, u8(c == 0xE0 ? 0xA0 : 0x80), u8(c == 0xED ? 0x9F : 0xBF)};
  return {4, u8(c == 0xF0 ? 0x90 : 0x80), u8(c == 0xF4 ? 0x8F : 0xBF)};
}

}  // namespace

Utf8Char read_utf8(const u8* text, size_t size) {
  const Lead lead = lead_of(text[0]);
  if (lead.length == 1) return {text[0], 1};
  if (lead.length == 0 || size < 2 || text[1] < lead.low || text[1] > lead.high) return {Utf8Char::kInvalid, 1};
  u32 code = text[0] & (0x7Fu >> lead.length);
  code = code << 6 | (text[1] & 0x3Fu);
  for (u32 k = 2; k < lead.length; ++k) {
    if (k >= size || (text[k] & 0xC0) != 0x80) return {Utf8Char::kInvalid, k};
    code = code << 6 | (text[k] & 0x3Fu);
  }
  return {code, lead.length};
}

void append_utf8(std::string& out, u32 c) {
  if (c < 0x80) {
    out += char(c);
  } else if (c < 0x800) {
    out += {char(0xC0 | c >> 6), char(0x80 | (c & 63))};
  } else if (c < 0x10000) {
    out += {char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
  } else {
    out += {char(0xF0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
  }
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    const Utf8Char c = read_utf8(reinterpret_cast<const u8*>(bytes.data()) + i, bytes.size() - i);
    if (c.code_point == Utf8Char::kInvalid) {
      append_utf8(out, 0xFFFD);
    } else {
      out.append(bytes, i, c.length);
    }
    i += c.length;
  }
  return out;
}

CodeTable::CodeTable(const std::vector<u8>& all) {
  std::map<std::string, u16> seen;
  for (size_t at = 0; at < all.size(); at += 256) {
    const std::string block(all.begin() + i64(at), all.begin() + i64(at) + 256);
    const auto [found, is_new] = seen.try_emplace(block, u16(seen.size()));
    if (is_new) values_.insert(values_.end(), block.begin(), block.end());
    block_.push_back(found->second);
  }
}

namespace {

std::vector<u8> all_categories() {
  std::vector<u8> all(0x110000, u8(Category::unassigned));
  const auto fill = [&](std::span<const CodeRange> ranges, Category c) {
    for (const CodeRange& r : ranges) {
      for (u32 code = r.first; code <= r.last; code += r.step) all[code] = u8(c);
    }
  };
  fill(kLu, Category::uppercase), fill(kLt, Category::titlecase), fill(kLl, Category::lowercase);
  fill(kLm, Category::modifier), fill(kLo, Category::other_letter);
  fill(kMn, Category::nonspacing), fill(kMc, Category::spacing), fill(kMe, Category::enclosing);
  fill(kNd, Category::digit), fill(kNl, Category::letter_number), fill(kNo, Category::other_number);
  fill(kPc, Category::connector), fill(kPd, Category::dash), fill(kPs, Category::open), fill(kPe, Category::close);
  fill(kPi, Category::initial), fill(kPf, Category::final), fill(kPo, Category::other_punctuation);
  fill(kSm, Category::math), fill(kSc, Category::currency), fill(kSk, Category::modifier_symbol);
  fill(kSo, Category::other_symbol), fill(kZs, Category::space), fill(kZl, Category::line);
  fill(kZp, Category::paragraph), fill(kCc, Category::control), fill(kCf, Category::format);
  fill(kCo, Category::private_use);
  std::fill(all.begin() + 0xD800, all.begin() + 0xE000, u8(Category::surrogate));
  return all;
}

const CodeTable& category_table() {
  static const CodeTable table(all_categories());
  return table;
}

CharClass class_of(u32 code) {
  const Category c = category_of(code);
  if (is_space(code)) return CharClass::space;
  if (is_number(c)) return CharClass::number;
  if (is_mark(c)) return CharClass::mark;
  if (c == Category::uppercase || c == Category::titlecase) return CharClass::upper;
  if (c == Category::lowercase) return CharClass::lower;
  return is_letter(c) ? CharClass::letter : CharClass::other;
}

std::vector<u8> all_classes() {
  std::vector<u8> all(0x110000);
  for (u32 code = 0; code < all.size(); ++code) all[code] = u8(class_of(code));
  return all;
}

}  // namespace

Category category_of(u32 code_point) { return Category(category_table()[code_point]); }

bool is_space(u32 code) {
  if (code < 0x80) return code == ' ' || (code >= 9 && code <= 13);
  return std::any_of(std::begin(kSpaces), std::end(kSpaces),
                     [&](const CodeRange& r) { return code >= r.first && code <= r.last; });
}

bool is_word(u32 code) {
  const Category c = category_of(code);
  if (is_letter(c) || is_mark(c)) return true;
  if (c == Category::digit || c == Category::letter_number || c == Category::connector) return true;
  // ZWNJ and ZWJ, and the circled and squared letters, which are alphabetic symbols.
  return code == 0x200C || code == 0x200D || (code >= 0x24B6 && code <= 0x24E9) ||
         (code >= 0x1F130 && code <= 0x1F149) || (code >= 0x1F150 && code <= 0x1F169) ||
         (code >= 0x1F170 && code <= 0x1F189);
}

std::vector<u32> code_points_of(Category first, Category last) {
  std::vector<u32> found;
  for (u32 code = 0; code <= 0x10FFFF; ++code) {
    const Category c = category_of(code);
    if (c >= first && c <= last) found.push_back(code);
  }
  return found;
}

ClassTable::ClassTable() : table_(all_classes()) {}

const ClassTable& class_table() {
  static const ClassTable table;
  return table;
}

}  // namespace megalith
