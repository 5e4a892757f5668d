#include "tokens/byte_bpe_tokenizer.h"

#include <algorithm>

#include "base/check.h"

namespace megalith {

i32 ByteBpeTokenizer::find(std::string_view token) const {
  const auto& all = parts_.token_bytes;
  const auto found = token.empty() ? all.end() : std::find(all.begin(), all.end(), token);
  return found == all.end() ? kNone : i32(found - all.begin());
}

std::unique_ptr<TextEncoder> ByteBpeTokenizer::encoder() const {
  auto encoder = make_byte_encoder(parts_.pattern, parts_.bpe);
  return parts_.special.empty() ? std::move(encoder) : with_special_tokens(parts_.special, std::move(encoder));
}

std::string ByteBpeTokenizer::decode_bytes(std::span<const i32> ids) const {
  std::string out;
  for (i32 id : ids) {
    check(id >= 0 && id < vocab_size(), "token id {} is outside the vocabulary: want 0 to {}", id, vocab_size() - 1);
    out += parts_.token_bytes[size_t(id)];
  }
  return out;
}

}  // namespace megalith
