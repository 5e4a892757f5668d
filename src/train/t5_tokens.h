// The special tokens of T5 samples.
#pragma once
#include <vector>

#include "tokens/tokenizer.h"

namespace megalith {

struct T5Tokens {
  i32 bos = 0, eos = 0, pad = 0;  // bos begins the decoder's text, eos ends it
  std::vector<i32> sentinels = {};
};

inline constexpr i64 kMostSentinels = 100;  // numbers below it may be missing; synthetic data has no more

// [CLS], [SEP] and [PAD], or their equivalents, and the sentinels <extra_id_0>, <extra_id_1>, .. that exist. Error
// without an end-of-text token.
T5Tokens t5_tokens(const Tokenizer& tokenizer);

// Without a tokenizer: the last ids of the vocabulary, in the order bos, eos, pad, sentinels. Error if it is too
// small.
T5Tokens last_t5_tokens(i64 vocab_size);

}  // namespace megalith
