#include "tokens/hf/added_tokens.h"

#include <algorithm>

#include "base/check.h"
#include "tokens/unicode.h"

namespace megalith::hf {

namespace {

Utf8Char char_at(std::string_view text, size_t i) {
  return read_utf8(reinterpret_cast<const u8*>(text.data()) + i, text.size() - i);
}

// The start of the character before i, i > 0.
size_t before(std::string_view text, size_t i) {
  size_t k = i - 1;
  while (k > 0 && i - k < 4 && (u8(text[k]) & 0xC0) == 0x80) --k;
  return k + char_at(text, k).length == i ? k : i - 1;
}

}  // namespace

AddedToken read_added_token(const Json& item, bool special, std::string_view where) {
  AddedToken t{.content = item.text("content", "", where)};
  t.special = item.flag("special", special, where);
  t.single_word = item.flag("single_word", false, where);
  t.lstrip = item.flag("lstrip", false, where);
  t.rstrip = item.flag("rstrip", false, where);
  t.says_normalized = !member(item, "normalized").is_null();
  t.normalized = item.flag("normalized", !t.special, where);
  return t;
}

AddedList read_added_list(const Json& list, std::string_view where) {
  AddedList out;
  if (list.is_null()) return out;
  check(list.is_list(), "{}: \"added_tokens\" is not a list", where);
  for (const Json& item : list.items) out.push_back(read_added_token(item, false, where));
  return out;
}

AddedTokens::AddedTokens(const AddedList& list, const Vocabulary& v, Normalizer* normalizer, bool split_special)
    : split_special_(split_special) {
  for (const AddedToken& token : list) add(token, v);
  for (size_t i = 0; i < tokens_.size(); ++i) {
    AddedToken& t = tokens_[i];
    t.decoded = t.normalized && normalizer ? std::string(normalizer->apply(t.content)) : t.content;
    (t.normalized ? in_normalized_ : in_raw_).add(t.decoded, i32(i));
  }
}

void AddedTokens::add(AddedToken t, const Vocabulary& v) {
  if (t.content.empty()) return;
  const auto same = [&](const AddedToken& other) { return other.content == t.content; };
  const auto known = std::find_if(tokens_.begin(), tokens_.end(), same);
  t.id = v.find(t.content);
  t.was_special = t.special;
  if (known != tokens_.end()) {
    t.was_special |= known->was_special;
    t.id = known->id;
    *known = t;
    return;
  }
  if (t.id == Vocabulary::kNone) {
    i64 next = v.count();
    for (const AddedToken& other : tokens_) next = std::max(next, i64(other.id) + 1);
    t.id = i32(next);
  }
  tokens_.push_back(std::move(t));
}

bool AddedTokens::stands_alone(std::string_view text, const SpecialTokens::Match& m) {
  const bool left = m.begin > 0 && is_word(char_at(text, before(text, m.begin)).code_point);
  const bool right = m.end < text.size() && is_word(char_at(text, m.end).code_point);
  return !left && !right;
}

void AddedTokens::widen(std::string_view text, const AddedToken& token, size_t done, SpecialTokens::Match& m) {
  if (token.lstrip) {
    size_t begin = m.begin;
    while (begin > done) {
      const size_t k = before(text, begin);
      if (!is_space(char_at(text, k).code_point)) break;
      begin = k;
    }
    m.begin = std::max(begin, done);
  }
  if (token.rstrip) {
    while (m.end < text.size()) {
      const Utf8Char c = char_at(text, m.end);
      if (!is_space(c.code_point)) break;
      m.end += c.length;
    }
  }
}

}  // namespace megalith::hf
