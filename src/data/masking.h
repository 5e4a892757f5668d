// Chooses the masked words of a sample for BERT and T5, as Megatron's masked-word-piece datasets do.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "data/numpy_random.h"

namespace megalith {

struct MaskingConfig {
  double probability = 0.15;       // that a token is masked
  double short_probability = 0.1;  // that a sample is shorter
  i64 max_ngram = 3;               // longest run of words that is masked together
  bool full_words = true;          // masks all tokens of a word together
  bool longer_ngrams = false;      // long runs are more likely
  bool geometric = false;          // run lengths are geometric (p = 0.2) instead of proportional to 1/length
  std::function<bool(i32)> continues_word = [](i32) { return false; };  // true for tokens like "##ing"
};

// Positions in the text that are masked together, in order.
using MaskedSpan = std::vector<i64>;

// Draws runs of words and masks them. It calls mask(position) for each masked position when it is drawn; mask may
// draw random numbers too. `special` ids are never masked and end words. `target`: the intended length. Spans are in
// the order of their positions.
std::vector<MaskedSpan> mask_words(std::span<const i32> text, i64 target, std::span<const i32> special,
                                   const MaskingConfig& config, RandomState& random,
                                   const std::function<void(i64)>& mask);

}  // namespace megalith
