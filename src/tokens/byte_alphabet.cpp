#include "tokens/byte_alphabet.h"

#include "tokens/unicode.h"

namespace megalith {

static constexpr std::array<u32, 256> kAlphabet = [] {
  std::array<u32, 256> t{};
  u32 next = 256;
  for (u32 b = 0; b < 256; ++b) {
    const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    t[b] = printable ? b : next++;
  }
  return t;
}();
static constexpr u32 kAlphabetEnd = 256 + 68;

const std::array<u32, 256>& byte_alphabet() { return kAlphabet; }

static constexpr std::array<i32, kAlphabetEnd> kBytes = [] {
  std::array<i32, kAlphabetEnd> t{};
  t.fill(-1);
  for (int b = 0; b < 256; ++b) t[kAlphabet[b]] = b;
  return t;
}();

bool is_in_byte_alphabet(std::string_view token) {
  for (size_t i = 0; i < token.size();) {
    const Utf8Char c = read_utf8(reinterpret_cast<const u8*>(token.data()) + i, token.size() - i);
    if (c.code_point >= kAlphabetEnd || kBytes[c.code_point] < 0) return false;
    i += c.length;
  }
  return true;
}

std::string bytes_of_token(std::string_view token) {
  if (!is_in_byte_alphabet(token)) return std::string(token);
  std::string out;
  for (size_t i = 0; i < token.size();) {
    const Utf8Char c = read_utf8(reinterpret_cast<const u8*>(token.data()) + i, token.size() - i);
    out += char(kBytes[c.code_point]);
    i += c.length;
  }
  return out;
}

}  // namespace megalith
