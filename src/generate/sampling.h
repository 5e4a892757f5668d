// Picks the next token from logits. Numbers are drawn by (seed, position). So the same prompt, seed and logits give the
// same text, with any batching.
#pragma once
#include <span>

#include "base/dtype.h"

namespace megalith {

struct SamplingOptions {
  double temperature = 1;  // logits are divided by it; 0: greedy
  i64 top_k = 0;           // only the k most likely tokens; 0: all; 1: greedy
  double top_p = 0;  // only the fewest most likely tokens that reach this probability; 0: all. After top_k, if both
  u64 seed = 1234;
};

// Mistakes (naming the flags): temperature negative or not finite, top_k negative, top_p outside 0..1.
void check_sampling(const SamplingOptions& options);

// logits [V] of the true vocabulary -> a token id. Equal logits count in the order of their ids. -inf bans a token.
// Error if a logit is NaN or +inf, or if none is left. position: of the token to be drawn, in its sequence; mix in the
// sequence's number where there are several.
i64 sample_token(std::span<const float> logits, const SamplingOptions& options, u64 position);

}  // namespace megalith
