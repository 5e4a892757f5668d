#include "tokens/chat/python_text.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "tokens/unicode.h"

namespace megalith::chat {

namespace {

Utf8Char first_of(std::string_view text) { return read_utf8(reinterpret_cast<const u8*>(text.data()), text.size()); }

bool is_continuation(char c) { return (u8(c) & 0xC0) == 0x80; }

// str.isspace: White_Space, and four separators among the control characters.
bool is_python_space(u32 c) { return (c >= 0x1C && c <= 0x1F) || is_space(c); }

bool is_in(std::string_view character, std::string_view set) {
  if (set.empty()) return is_python_space(first_of(character).code_point);
  return set.find(character) != std::string_view::npos;
}

using Case = utf8proc_int32_t (*)(utf8proc_int32_t);

void append_mapped(std::string& out, std::string_view character, Case map) {
  const u32 code = first_of(character).code_point;
  if (code == 0xDF && map != utf8proc_tolower)
    out += map == utf8proc_toupper ? "SS" : "Ss";
  else
    append_utf8(out, u32(map(utf8proc_int32_t(code))));
}

std::string mapped(std::string_view text, Case map) {
  std::string out;
  for (const std::string_view c : characters(text)) append_mapped(out, c, map);
  return out;
}

bool has_case(u32 c) {
  const Category k = category_of(c);
  return k == Category::uppercase || k == Category::lowercase || k == Category::titlecase;
}

std::vector<std::string_view> split_blanks(std::string_view text, i64 most, bool from_right) {
  std::vector<std::string_view> parts;
  for (text = strip(text); !text.empty();) {
    if (most >= 0 && i64(parts.size()) == most) {
      parts.push_back(text);
      break;
    }
    const auto all = characters(text);
    const auto blank = [](std::string_view c) { return is_in(c, {}); };
    size_t size = 0;
    if (from_right) {
      for (auto c = all.rbegin(); c != all.rend() && !blank(*c); ++c) size += c->size();
      parts.push_back(text.substr(text.size() - size));
      text = strip_right(text.substr(0, text.size() - size));
    } else {
      for (auto c = all.begin(); c != all.end() && !blank(*c); ++c) size += c->size();
      parts.push_back(text.substr(0, size));
      text = strip_left(text.substr(size));
    }
  }
  if (from_right) std::ranges::reverse(parts);
  return parts;
}

}  // namespace

void check_size(size_t bytes) {
  check(bytes <= kMostBytes, "a text exceeds {} MiB: the template repeats itself", kMostBytes >> 20);
}

i64 count_characters(std::string_view text) { return i64(text.size()) - std::ranges::count_if(text, is_continuation); }

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (end < text.size() && is_continuation(text[end])) ++end;
    out.push_back(text.substr(i, end - i));
    i = end;
  }
  return out;
}

std::string_view strip_left(std::string_view text, std::string_view set) {
  while (!text.empty()) {
    size_t size = 1;
    while (size < text.size() && is_continuation(text[size])) ++size;
    if (!is_in(text.substr(0, size), set)) break;
    text.remove_prefix(size);
  }
  return text;
}

std::string_view strip_right(std::string_view text, std::string_view set) {
  while (!text.empty()) {
    size_t size = 1;
    while (size < text.size() && is_continuation(text[text.size() - size])) ++size;
    if (!is_in(text.substr(text.size() - size), set)) break;
    text.remove_suffix(size);
  }
  return text;
}

std::string upper(std::string_view text) { return mapped(text, utf8proc_toupper); }
std::string lower(std::string_view text) { return mapped(text, utf8proc_tolower); }

std::string capitalize(std::string_view text) {
  if (text.empty()) return {};
  const size_t size = characters(text)[0].size();
  return mapped(text.substr(0, size), utf8proc_totitle) + lower(text.substr(size));
}

std::string title(std::string_view text) {
  std::string out;
  bool inside = false;  // a word
  for (const std::string_view c : characters(text)) {
    append_mapped(out, c, inside ? utf8proc_tolower : utf8proc_totitle);
    inside = has_case(first_of(c).code_point);
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator, i64 most, bool from_right) {
  if (separator.empty()) return split_blanks(text, most, from_right);
  std::vector<std::string_view> parts;
  while (most < 0 || i64(parts.size()) < most) {
    const size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == std::string_view::npos) break;
    const std::string_view before = text.substr(0, at), behind = text.substr(at + separator.size());
    parts.push_back(from_right ? behind : before);
    text = from_right ? before : behind;
  }
  parts.push_back(text);
  if (from_right) std::ranges::reverse(parts);
  return parts;
}

std::string replace_all(std::string_view text, std::string_view what, std::string_view with, i64 most) {
  std::string out;
  if (what.empty()) {  // before every character and at the end
    i64 done = 0;
    for (const std::string_view c : characters(text)) {
      if (most < 0 || done < most) out += with, ++done;
      out += c;
      check_size(out.size());
    }
    return most < 0 || done < most ? out.append(with) : out;
  }
  size_t from = 0;
  for (i64 done = 0; most < 0 || done < most; ++done) {
    const size_t at = text.find(what, from);
    if (at == std::string_view::npos) break;
    out.append(text.substr(from, at - from)).append(with);
    from = at + what.size();
    check_size(out.size());
  }
  return out.append(text.substr(from));
}

std::string repr(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (const std::string_view c : characters(text)) {
    const u32 code = first_of(c).code_point;
    const Category k = category_of(code);
    const bool printable = c == " " || (k != Category::unassigned && k != Category::control && k != Category::format &&
                                        k != Category::private_use && k != Category::space && k != Category::line &&
                                        k != Category::paragraph && k != Category::surrogate);
    if (c == "\n")
      out += "\\n";
    else if (c == "\r")
      out += "\\r";
    else if (c == "\t")
      out += "\\t";
    else if (c == "\\" || c[0] == quote)
      out.append("\\").append(c);
    else if (printable)
      out += c;
    else if (code < 0x100)
      out += fmt::format("\\x{:02x}", code);
    else if (code < 0x10000)
      out += fmt::format("\\u{:04x}", code);
    else
      out += fmt::format("\\U{:08x}", code);
  }
  return out + quote;
}

std::string repr(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", number);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = first_of(text.substr(i));
    const u32 code = c.code_point;
    const bool ends = (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
                      code == 0x2028 || code == 0x2029;
    const size_t end = i + c.length;
    i = text.substr(i).starts_with("\r\n") ? i + 2 : end;
    if (ends) lines.push_back(text.substr(begin, end - c.length - begin)), begin = i;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

// \uXXXX; two of them above U+FFFF.
static std::string unicode_escape(u32 code) {
  if (code < 0x10000) return fmt::format("\\u{:04x}", code);
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + (code & 0x3FF));
}

std::string json_string(std::string_view text, bool ascii) {
  std::string out = "\"";
  for (const std::string_view letter : characters(text)) {
    const char c = letter[0];
    if (ascii && (u8(c) >= 0x7F)) {
      out += unicode_escape(first_of(letter).code_point);
      continue;
    }
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\b':
        out += "\\b";
        break;
      default:
        u8(c) < 0x20 ? out += fmt::format("\\u{:04x}", c) : out += letter;
    }
  }
  return out + '"';
}

}  // namespace megalith::chat
