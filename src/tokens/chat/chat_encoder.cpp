#include "tokens/chat/chat_encoder.h"

#include <algorithm>

#include "base/check.h"
#include "tokens/chat/python_text.h"
#include "tokens/unicode.h"

namespace megalith::chat {

ChatEncoder::ChatEncoder(const ChatFormat& format, const Tokenizer& tokenizer)
    : format_(format), tokenizer_(tokenizer), encoder_(tokenizer.encoder()) {}

const std::string& ChatEncoder::piece(i32 id) {
  const auto [at, is_new] = pieces_.try_emplace(id);
  if (is_new) at->second = tokenizer_.decode_bytes({&id, 1});
  return at->second;
}

// The end of each token in the text. Nothing if the tokens are not consecutive pieces of the text, as those of
// byte-level tokenizers are.
std::optional<std::vector<size_t>> ChatEncoder::ends_of(const std::string& text, const std::vector<i32>& tokens) {
  std::vector<size_t> ends;
  size_t at = 0;
  for (const i32 id : tokens) {
    const std::string& p = piece(id);
    if (p.empty() || text.compare(at, p.size(), p) != 0) return std::nullopt;
    ends.push_back(at += p.size());
  }
  if (at != text.size()) return std::nullopt;
  return ends;
}

// The number of tokens of text[0, at), if a cut at `at` does not change them.
size_t ChatEncoder::tokens_before(const std::string& text, size_t at, const std::vector<i32>& tokens) {
  std::vector<i32> before;
  encoder_->encode(std::string_view(text).substr(0, at), before);
  check(before.size() <= tokens.size() && std::ranges::equal(before, std::span(tokens).first(before.size())),
        "the assistant's text begins or ends inside a token, at {}: use a template that sets a special token or a "
        "line end there",
        repr(replace_invalid_utf8(text.substr(at - std::min<size_t>(at, 8), 16))));
  return before.size();
}

EncodedChat ChatEncoder::encode(const Chat& chat) {
  const Rendered r = render_chat(format_, chat);
  EncodedChat out;
  encoder_->encode(r.text, out.tokens);
  out.trained.resize(out.tokens.size());
  const auto ends = ends_of(r.text, out.tokens);
  for (const auto& [begin, end] : r.generations) {
    if (begin == end) continue;
    size_t first = 0, last = 0;  // tokens [first, last)
    if (ends) {
      first = size_t(std::ranges::upper_bound(*ends, begin) - ends->begin());
      last = size_t(std::ranges::lower_bound(*ends, end) - ends->begin()) + 1;
    } else {
      first = tokens_before(r.text, begin, out.tokens), last = tokens_before(r.text, end, out.tokens);
    }
    std::fill(out.trained.begin() + std::ptrdiff_t(first), out.trained.begin() + std::ptrdiff_t(last), u8{1});
  }
  return out;
}

}  // namespace megalith::chat
