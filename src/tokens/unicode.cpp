#include "tokens/unicode.h"

#include <algorithm>
#include <map>

#include "tokens/unicode_ranges.h"

namespace megalith {

namespace {

constexpr CodeRange kSpaces[] = {{0x9, 0xD},       {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},
                                 {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                                 {0x205F, 0x205F}, {0x3000, 0x3000}};

// Number of bytes and the allowed range of the second byte (Unicode standard, table 3-7) for a first byte; length 1 is
// ASCII, 0 never begins a character.
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

ClassTable::ClassTable() {
  std::vector<CharClass> all(0x110000, CharClass::other);
  const auto fill = [&](const auto& ranges, CharClass c) {
    for (const CodeRange& r : ranges) std::fill(all.begin() + r.first, all.begin() + r.last + 1, c);
  };
  fill(kLetters, CharClass::letter);
  fill(kNumbers, CharClass::number);
  fill(kSpaces, CharClass::space);
  std::map<std::vector<CharClass>, u8> seen;
  for (size_t at = 0; at < all.size(); at += 256) {
    std::vector<CharClass> block(all.begin() + at, all.begin() + at + 256);
    const auto [found, is_new] = seen.try_emplace(block, u8(seen.size()));
    if (is_new) classes_.insert(classes_.end(), block.begin(), block.end());
    block_.push_back(found->second);
  }
}

const ClassTable& class_table() {
  static const ClassTable table;
  return table;
}

}  // namespace megalith
