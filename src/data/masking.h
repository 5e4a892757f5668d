// Which words of a sample are masked, as BERT and T5 are trained: Megatron's masked-word-piece datasets.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "data/numpy_random.h"

namespace megalith {

struct MaskingConfig {
  double probability = 0.15;       // of a token to be masked
  double short_probability = 0.1;  // of a shorter sample
  i64 max_ngram = 3;               // longest run of words that is masked at once
  bool full_words = true;          // pieces that continue a word are masked with it
  bool longer_ngrams = false;      // long runs are the likely ones
  bool geometric = false;          // lengths of runs are geometric (p = 0.2) instead of likely as 1/length
  std::function<bool(i32)> continues_word = [](i32) { return false; };  // pieces as "##ing"
};

// Positions in the text that are masked together, in order.
using MaskedSpan = std::vector<i64>;

// Draws runs of words and masks them. mask(position) is called for each masked position when it is drawn, and may draw
// random numbers too. `special` ids are never masked and end words; `target`: the intended length. Spans are in the
// order of their positions.
std::vector<MaskedSpan> mask_words(std::span<const i32> text, i64 target, std::span<const i32> special,
                                   const MaskingConfig& config, RandomState& random,
                                   const std::function<void(i64)>& mask);

}  // namespace megalith
