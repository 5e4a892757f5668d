#include "data/blend_builder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace megalith {

BlendBuilder::BlendBuilder(BlendPlan plan) : index_(std::move(plan)) {
  constexpr i64 kMostParts = 32, kFewestMarks = 64;
  const i64 marks = index_.marks() - 1;  // with samples behind them
  const bool limited = std::ranges::any_of(index_.plan_.limits, [](i64 n) { return n != GreedyBlend::kNoLimit; });
  const i64 parts = limited ? 1 : std::clamp<i64>(marks / kFewestMarks, 1, kMostParts);
  for (i64 p = 0; p <= parts; ++p) starts_.push_back(marks * p / parts);
}

// About what the rule has taken before a sample: each dataset its share, those with the largest remainders one more, of
// equal ones the first: so datasets of one weight are in the middle of a round of their turns, as the rule has them.
std::vector<i64> BlendBuilder::guess(i64 sample) const {
  const std::vector<double>& weights = index_.plan_.weights;
  std::vector<i64> taken;
  for (double w : weights) taken.push_back(i64(std::floor(w * double(sample))));
  const i64 missing = sample - std::accumulate(taken.begin(), taken.end(), i64{0});
  std::vector<std::size_t> order(taken.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t d) { return weights[d] * double(sample) - double(taken[d]); });
  for (i64 i = 0; i < missing; ++i) ++taken[order[std::size_t(i) % order.size()]];
  return taken;
}

// The marks of a part, its first included; the last part has the end's too.
void BlendBuilder::make(i64 part) {
  const i64 first = starts_[std::size_t(part)], end = starts_[std::size_t(part) + 1];
  index_.mark(first, guess(index_.sample_of(first)));
  GreedyBlend rule = index_.rule_at(first);
  for (i64 m = first; m <= end; ++m) {
    while (rule.sample() < index_.sample_of(m)) rule.next();
    if (m < end || part + 1 == parts()) index_.mark(m, rule.taken());
  }
}

BlendIndex BlendBuilder::finish() {
  for (i64 part = 1; part < parts(); ++part) {
    const i64 first = starts_[std::size_t(part)], end = starts_[std::size_t(part) + 1];
    GreedyBlend rule = index_.rule_at(first - 1);
    for (i64 m = first; m < end || (part + 1 == parts() && m == end); ++m) {
      while (rule.sample() < index_.sample_of(m)) rule.next();
      if (std::ranges::equal(rule.taken(), index_.taken_at(m))) break;
      index_.mark(m, rule.taken());
    }
  }
  return std::move(index_);
}

}  // namespace megalith
