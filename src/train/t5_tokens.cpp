#include "train/t5_tokens.h"

#include <algorithm>

#include "base/check.h"

namespace megalith {

// The first of these texts that is a token.
static i32 first_token(const Tokenizer& tokenizer, std::initializer_list<const char*> texts, i32 otherwise) {
  for (const char* text : texts)
    if (const i32 id = tokenizer.find(text); id != Tokenizer::kNone) return id;
  return otherwise;
}

T5Tokens t5_tokens(const Tokenizer& tokenizer) {
  T5Tokens out;
  out.pad = first_token(tokenizer, {"[PAD]", "<pad>"}, std::max(0, tokenizer.pad()));
  out.bos = first_token(tokenizer, {"[CLS]"}, tokenizer.bos() == Tokenizer::kNone ? out.pad : tokenizer.bos());
  out.eos = first_token(tokenizer, {"[SEP]", "</s>"}, tokenizer.eod());
  check(out.eos != Tokenizer::kNone, "the tokenizer has no end-of-text token, [SEP] or </s>: give another tokenizer");
  for (i64 i = 0;; ++i) {
    const i32 id = tokenizer.find(sentinel_name(i));
    if (id != Tokenizer::kNone) out.sentinels.push_back(id);
    if (id == Tokenizer::kNone && i >= kMostSentinels) return out;
  }
}

T5Tokens last_t5_tokens(i64 vocab_size) {
  constexpr i64 kSpecial = 3;
  check(vocab_size > 2 * kSpecial, "synthetic data for a T5 with a vocabulary of {}: give --vocab-size 8 or more",
        vocab_size);
  const i64 sentinels = std::min(kMostSentinels, (vocab_size - kSpecial) / 2);
  const auto first = i32(vocab_size - kSpecial - sentinels);
  T5Tokens out{.bos = first, .eos = first + 1, .pad = first + 2};
  for (i32 i = 0; i < i32(sentinels); ++i) out.sentinels.push_back(first + i32(kSpecial) + i);
  return out;
}

}  // namespace megalith
