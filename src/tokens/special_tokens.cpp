#include "tokens/special_tokens.h"

#include <cstring>

#include "base/check.h"

namespace megalith {

void SpecialTokens::add(std::string_view text, i32 value) {
  check(text.size() <= kLongest, "the added token \"{}...\" is {} bytes long: at most {} are possible",
        text.substr(0, 40), text.size(), kLongest);
  if (text.empty()) return;
  if (!trie_.begins_with(u8(text[0]))) ++first_bytes_, first_ = u8(text[0]);
  trie_.insert(text, value);
}

size_t SpecialTokens::candidate(std::string_view text, size_t from) const {
  if (first_bytes_ == 1) {
    const void* found = std::memchr(text.data() + from, first_, text.size() - from);
    return found ? size_t(static_cast<const char*>(found) - text.data()) : text.size();
  }
  while (from < text.size() && !trie_.begins_with(u8(text[from]))) ++from;
  return from;
}

SpecialTokens::Match SpecialTokens::find(std::string_view text, size_t from) const {
  if (empty()) return {};
  for (; from < text.size(); ++from) {
    from = candidate(text, from);
    Match found;
    u32 node = ByteTrie::root();
    for (size_t k = from; k < text.size(); ++k) {
      node = trie_.step(node, u8(text[k]));
      if (node == ByteTrie::kDead) break;
      if (trie_.value(node) != ByteTrie::kNone) found = {from, k + 1, trie_.value(node)};
    }
    if (found.begin != npos) return found;
  }
  return {};
}

namespace {

class SpecialEncoder : public TextEncoder {
 public:
  SpecialEncoder(const SpecialTokens& tokens, std::unique_ptr<TextEncoder> rest)
      : tokens_(tokens), rest_(std::move(rest)) {}

  void encode(std::string_view text, std::vector<i32>& out) override {
    size_t done = 0;
    for (;;) {
      const SpecialTokens::Match m = tokens_.find(text, done);
      if (m.begin == SpecialTokens::npos) break;
      rest_->encode(text.substr(done, m.begin - done), out);
      out.push_back(m.value);
      done = m.end;
    }
    rest_->encode(text.substr(done), out);
  }

 private:
  const SpecialTokens& tokens_;
  std::unique_ptr<TextEncoder> rest_;
};

}  // namespace

std::unique_ptr<TextEncoder> with_special_tokens(const SpecialTokens& tokens, std::unique_ptr<TextEncoder> rest) {
  return std::make_unique<SpecialEncoder>(tokens, std::move(rest));
}

}  // namespace megalith
