#include "tokens/chat/string_literal.h"

#include <charconv>

#include "base/check.h"
#include "tokens/unicode.h"

namespace megalith::chat {

namespace {

struct Escape {
  char letter;
  char stands_for;
};
constexpr Escape kEscapes[] = {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'\\', '\\'}, {'\'', '\''},
                               {'"', '"'},  {'a', '\a'}, {'b', '\b'}, {'f', '\f'},  {'v', '\v'}};

// Reads at most `most` digits at text[at], and moves `at` after them.
u32 code_of(std::string_view text, size_t& at, size_t most, int base) {
  u32 code = 0;
  const std::string_view digits = text.substr(at, most);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, base);
  const size_t read = error == std::errc() ? size_t(end - digits.data()) : 0;
  at += read;
  return read == 0 || (base == 16 && read != most) ? Utf8Char::kInvalid : code;
}

}  // namespace

std::string unescaped(std::string_view literal, int line) {
  std::string out;
  for (size_t i = 0; i < literal.size();) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      out += literal[i++];
      continue;
    }
    const char c = literal[i + 1];
    const Escape* simple = nullptr;
    for (const Escape& e : kEscapes)
      if (e.letter == c) simple = &e;
    const size_t hex = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    const bool octal = c >= '0' && c <= '7';
    i += 2;
    if (simple) {
      out += simple->stands_for;
    } else if (hex > 0 || octal) {
      i -= octal;
      const u32 code = code_of(literal, i, octal ? 3 : hex, octal ? 8 : 16);
      check(code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF), "line {}: \\{} names no character", line, c);
      append_utf8(out, code);
    } else if (c != '\n') {
      check(c != 'N', "line {}: names of characters (\\N) are not supported: write \\u and four digits", line);
      out.append("\\").append(1, c);
    }
  }
  return out;
}

}  // namespace megalith::chat
