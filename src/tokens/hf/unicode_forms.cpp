// Normalizes with utf8proc, but only where needed. It cuts the text at characters that never change and never combine
// with the previous one. Pieces of one such character are copied.
#include "tokens/hf/unicode_forms.h"

#include <utf8proc.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/check.h"
#include "tokens/reference_sets.h"
#include "tokens/unicode.h"

namespace megalith::hf {

namespace {

enum : u8 { kChanges, kStarts, kInert };  // kInert also starts a piece, and does not combine

int options_of(Form form) {
  const bool composed = form == Form::nfc || form == Form::nfkc, compat = form == Form::nfkc || form == Form::nfkd;
  return UTF8PROC_STABLE | (composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) | (compat ? UTF8PROC_COMPAT : 0);
}

CodeTable make_table(Form form) {
  constexpr u32 kEnd = 0x110000,
                kPlanes = 0x30000;  // normalization changes nothing beyond, except for the listed characters
  std::vector<u8> all(kEnd, kStarts);
  std::vector<u32> seconds;
  const int options = options_of(form) & ~(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  for (u32 c = 0; c < kPlanes; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    utf8proc_int32_t parts[64];
    int last_class = 0;
    const auto count =
        utf8proc_decompose_char(i32(c), parts, 64, utf8proc_option_t(options | UTF8PROC_DECOMPOSE), &last_class);
    const bool same = count == 1 && parts[0] == i32(c);
    if (utf8proc_get_property(i32(c))->combining_class != 0 || !same) all[c] = kChanges;
    for (utf8proc_ssize_t i = 1; i < count && i < 64; ++i) seconds.push_back(u32(parts[i]));
  }
  if (form == Form::nfc || form == Form::nfkc) {
    // A character that is already composed may stay; a possible second one of a pair may not.
    for (u32 c = 0; c < kPlanes; ++c) {
      if (all[c] != kChanges || utf8proc_get_property(i32(c))->combining_class != 0) continue;
      const i32 one[] = {i32(c)};
      std::vector<i32> room(80);
      room[0] = one[0];
      std::string text;
      append_utf8(text, c);
      u8* mapped = nullptr;
      const auto size = utf8proc_map(reinterpret_cast<const u8*>(text.data()), utf8proc_ssize_t(text.size()), &mapped,
                                     utf8proc_option_t(options_of(form)));
      const std::unique_ptr<u8, void (*)(void*)> owner(mapped, std::free);
      if (size == utf8proc_ssize_t(text.size()) &&
          std::equal(mapped, mapped + size, reinterpret_cast<const u8*>(text.data())))
        all[c] = kStarts;
    }
    for (u32 c : seconds) all[c] = kChanges;
    for (u32 c = 0x1160; c <= 0x11FF; ++c) all[c] = kChanges;  // Hangul's vowels and final consonants
  }
  for (const CodeRange& r : kInertInNormalization)
    std::fill(all.begin() + r.first, all.begin() + r.last + 1, u8(kInert));
  return CodeTable(all);
}

const CodeTable& table_of(Form form) {
  static const CodeTable nfc = make_table(Form::nfc);
  switch (form) {
    case Form::nfc:
      return nfc;
    case Form::nfd: {
      static const CodeTable nfd = make_table(Form::nfd);
      return nfd;
    }
    case Form::nfkc: {
      static const CodeTable nfkc = make_table(Form::nfkc);
      return nfkc;
    }
    default: {
      static const CodeTable nfkd = make_table(Form::nfkd);
      return nfkd;
    }
  }
}

void append_normal(Form form, std::string_view text, std::string& out) {
  u8* mapped = nullptr;
  const auto size = utf8proc_map(reinterpret_cast<const u8*>(text.data()), utf8proc_ssize_t(text.size()), &mapped,
                                 utf8proc_option_t(options_of(form)));
  const std::unique_ptr<u8, void (*)(void*)> owner(mapped, std::free);
  check(size >= 0, "a text of {} bytes cannot be normalized: {}", text.size(), utf8proc_errmsg(size));
  out.append(reinterpret_cast<const char*>(mapped), size_t(size));
}

bool all_ascii(std::string_view text) {
  u8 any = 0;
  for (char c : text) any |= u8(c);
  return any < 0x80;
}

}  // namespace

std::string_view normalize(Form form, std::string_view text, std::string& room) {
  if (all_ascii(text)) return text;
  const CodeTable& table = table_of(form);
  const auto* bytes = reinterpret_cast<const u8*>(text.data());
  room.clear();
  size_t copied = 0, begin = 0;  // text before `copied` is in room; a piece that may change begins at `begin`
  bool changes = false;
  const auto finish = [&](size_t end) {
    if (changes) {
      room.append(text, copied, begin - copied);
      append_normal(form, text.substr(begin, end - begin), room);
      copied = end;
    }
    changes = false;
  };
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = read_utf8(bytes + i, text.size() - i);
    const u8 type = c.code_point == Utf8Char::kInvalid ? u8(kInert) : table[c.code_point];
    if (type == kChanges) {
      changes = true;
    } else {
      finish(i);
      begin = type == kInert ? i + c.length : i;
    }
    i += c.length;
  }
  finish(text.size());
  if (copied == 0) return text;
  room.append(text, copied, text.size() - copied);
  return room;
}

void append_lower(std::string& out, u32 c) {
  struct Newer {
    u32 first, last, lower;
  };
  // Characters that an old utf8proc lacks.
  constexpr Newer kNewer[] = {{0x1C89, 0x1C89, 0x1C8A},   {0xA7CB, 0xA7CB, 0x264},  {0xA7CC, 0xA7CC, 0xA7CD},
                              {0xA7CE, 0xA7CE, 0xA7CF},   {0xA7D2, 0xA7D2, 0xA7D3}, {0xA7D4, 0xA7D4, 0xA7D5},
                              {0xA7DA, 0xA7DA, 0xA7DB},   {0xA7DC, 0xA7DC, 0x19B},  {0x10D50, 0x10D65, 0x10D70},
                              {0x16EA0, 0x16EB8, 0x16EBB}};
  if (c == 0x130) {  // the only capital letter that becomes two characters
    out += "i\u0307";
    return;
  }
  u32 lower = u32(utf8proc_tolower(i32(c)));
  for (const Newer& n : kNewer) {
    if (c >= n.first && c <= n.last) lower = n.lower + (c - n.first);
  }
  append_utf8(out, lower);
}

size_t grapheme_end(std::string_view text, size_t from) {
  const auto* bytes = reinterpret_cast<const u8*>(text.data());
  utf8proc_int32_t state = 0;
  Utf8Char last = read_utf8(bytes + from, text.size() - from);
  size_t i = from + last.length;
  while (i < text.size()) {
    const Utf8Char c = read_utf8(bytes + i, text.size() - i);
    if (utf8proc_grapheme_break_stateful(i32(last.code_point), i32(c.code_point), &state)) break;
    last = c;
    i += c.length;
  }
  return i;
}

}  // namespace megalith::hf
