#include "generate/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/mistakes.h"
#include "base/rng.h"

namespace megalith {

void check_sampling(const SamplingOptions& o) {
  MistakeList wrong;
  wrong.hold(std::isfinite(o.temperature) && o.temperature >= 0,
             "--temperature is {}: give 0 (greedy) or a number above", o.temperature);
  wrong.hold(o.top_k >= 0, "--top-k is {}: give 0 (all tokens) or a number above", o.top_k);
  wrong.hold(o.top_p >= 0 && o.top_p <= 1, "--top-p is {}: give a number from 0 (all tokens) to 1", o.top_p);
  wrong.done();
}

static i64 most_likely(std::span<const float> logits) {
  check(!logits.empty(), "there are no logits to pick a token from: the vocabulary is empty");
  for (size_t i = 0; i < logits.size(); ++i)
    check(logits[i] < std::numeric_limits<float>::infinity(),
          "the model's logit of token {} is {}: its weights or the loaded checkpoint are broken", i, logits[i]);
  const auto best = std::ranges::max_element(logits);
  check(std::isfinite(*best), "every token is banned (all {} logits are -inf): allow at least one", logits.size());
  return best - logits.begin();
}

struct Candidate {
  i64 id = 0;
  double weight = 0;  // its probability, unnormalised
};

static bool less_likely(const Candidate& a, const Candidate& b) {
  return a.weight != b.weight ? a.weight < b.weight : a.id > b.id;
}
static bool more_likely(const Candidate& a, const Candidate& b) { return less_likely(b, a); }

static double total_weight(const std::vector<Candidate>& all) {
  double sum = 0;
  for (const Candidate& c : all) sum += c.weight;
  return sum;
}

static void keep_top_k(std::vector<Candidate>& all, i64 k) {
  if (k == 0 || k >= i64(all.size())) return;
  std::ranges::nth_element(all, all.begin() + k, more_likely);
  all.resize(size_t(k));
}

// A heap, because few tokens of a large vocabulary are usually enough.
static void keep_top_p(std::vector<Candidate>& all, double p) {
  if (p == 0 || p == 1) return;
  const double wanted = p * total_weight(all);
  std::vector<Candidate> kept;
  std::ranges::make_heap(all, less_likely);
  for (double reached = 0; kept.empty() || (reached < wanted && !all.empty()); reached += kept.back().weight) {
    std::ranges::pop_heap(all, less_likely);
    kept.push_back(all.back());
    all.pop_back();
  }
  all = std::move(kept);
}

i64 sample_token(std::span<const float> logits, const SamplingOptions& o, u64 position) {
  check_sampling(o);
  const i64 best = most_likely(logits);
  if (o.temperature == 0 || o.top_k == 1) return best;
  std::vector<Candidate> kept(logits.size());
  for (size_t i = 0; i < kept.size(); ++i)
    kept[i] = {i64(i), std::exp((double(logits[i]) - double(logits[size_t(best)])) / o.temperature)};
  keep_top_k(kept, o.top_k);
  keep_top_p(kept, o.top_p);
  std::ranges::sort(kept, {}, &Candidate::id);
  double left = unit(mix_all(o.seed, position)) * total_weight(kept);
  for (const Candidate& c : kept) {
    if (left < c.weight) return c.id;
    left -= c.weight;
  }
  return best;  // rounding left a crumb
}

}  // namespace megalith
