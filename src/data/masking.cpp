#include "data/masking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "data/normalize.h"

namespace megalith {
namespace {

using Word = std::vector<i64>;  // positions of its tokens

std::vector<Word> words_of(std::span<const i32> text, std::span<const i32> special, const MaskingConfig& config) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::ranges::find(special, text[i]) != special.end()) continue;
    if (config.full_words && !words.empty() && config.continues_word(text[i]))
      words.back().push_back(i64(i));
    else
      words.push_back({i64(i)});
  }
  return words;
}

// Probabilities of runs of 1, 2, .. words.
std::vector<double> run_weights(const MaskingConfig& config) {
  std::vector<double> weights;
  for (i64 n = 1; n <= config.max_ngram; ++n) weights.push_back(1.0 / double(n));
  weights = normalize(weights, "the lengths of masked runs");
  if (config.longer_ngrams) std::ranges::reverse(weights);
  return normalize(weights, "the lengths of masked runs");  // Megatron normalizes twice
}

// The positions of `count` words; fewer near the end.
MaskedSpan positions_of(const std::vector<Word>& words, i64 first, i64 count) {
  MaskedSpan positions;
  for (i64 w = first; w < std::min(first + count, i64(words.size())); ++w)
    positions.insert(positions.end(), words[std::size_t(w)].begin(), words[std::size_t(w)].end());
  return positions;
}

}  // namespace

std::vector<MaskedSpan> mask_words(std::span<const i32> text, i64 target, std::span<const i32> special,
                                   const MaskingConfig& config, RandomState& random,
                                   const std::function<void(i64)>& mask) {
  const std::vector<Word> words = words_of(text, special, config);
  const double share = std::nearbyint(double(text.size()) * config.probability);  // rounds half to even
  const double most = std::min(config.probability * double(target), std::max(1.0, share));
  const std::vector<double> weights = run_weights(config);
  std::vector<i64> starts(words.size());
  std::iota(starts.begin(), starts.end(), 0);
  random.shuffle(std::span(starts));

  std::vector<bool> covered(text.size());
  std::vector<MaskedSpan> spans;
  i64 masked = 0;
  for (const i64 start : starts) {
    if (double(masked) >= most) break;
    i64 n = config.geometric ? std::min(random.geometric(0.2), config.max_ngram) : 1 + random.choice(weights);
    MaskedSpan span = positions_of(words, start, n--);
    for (; double(masked + i64(span.size())) > most && n > 0; --n) span = positions_of(words, start, n);
    if (double(masked + i64(span.size())) > most) continue;
    if (std::ranges::any_of(span, [&](i64 p) { return covered[std::size_t(p)]; })) continue;
    for (const i64 p : span) covered[std::size_t(p)] = true, mask(p);
    masked += i64(span.size());
    spans.push_back(std::move(span));
  }
  std::ranges::sort(spans, {}, [](const MaskedSpan& s) { return s.front(); });
  return spans;
}

}  // namespace megalith
