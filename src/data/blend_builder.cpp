#include "data/blend_builder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/blend_lanes.h"

namespace megalith {

BlendBuilder::BlendBuilder(BlendPlan plan) : index_(std::move(plan)) {
  constexpr i64 kMostTasks = 16, kFewestMarks = 16;  // long chunks, because the start of each is computed twice
  constexpr std::size_t kMostInLanes = 500;          // with more datasets, comparing only some of them is faster
  const i64 marks = index_.marks() - 1;              // marks that have samples after them
  const bool limited = std::ranges::any_of(index_.plan_.limits, [](i64 n) { return n != GreedyBlend::kNoLimit; });
  if (!limited && index_.datasets() <= kMostInLanes) parts_of_a_task_ = BlendLanes::kLanes;
  const i64 parts = limited ? 1 : kMostTasks * parts_of_a_task_;
  const i64 length = std::max((marks + parts - 1) / parts, kFewestMarks);
  starts_.push_back(0);
  while (starts_.back() < marks) starts_.push_back(std::min(starts_.back() + length, marks));
}

// Estimates the counts before a sample. Each dataset gets its share, rounded down; those with the largest remainders
// get one more, the first of equal ones first. So datasets of equal weight are in the middle of a round, as in the
// exact rule.
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

void BlendBuilder::make(i64 task) {
  const i64 begin = task * parts_of_a_task_, end = std::min(begin + parts_of_a_task_, parts());
  for (i64 part = begin; part < end; ++part) {
    const i64 first = starts_[std::size_t(part)];
    index_.mark(first, guess(index_.sample_of(first)));
  }
  if (parts_of_a_task_ > 1)
    make_in_lanes(begin, end);
  else
    make_part(begin);
}

// Computes the marks of a part, starting from its guess.
void BlendBuilder::make_part(i64 part) {
  GreedyBlend rule = index_.rule_at(starts_[std::size_t(part)]);
  for (i64 m = starts_[std::size_t(part)] + 1; m < starts_[std::size_t(part) + 1]; ++m) {
    rule.go_to(index_.sample_of(m));
    index_.mark(m, rule.taken());
  }
}

// Computes several parts at the same time, one in each SIMD lane.
void BlendBuilder::make_in_lanes(i64 begin, i64 end) {
  BlendLanes lanes(index_.plan_.weights);
  const std::span<const i64> firsts = std::span(starts_).subspan(std::size_t(begin), std::size_t(end - begin));
  for (std::size_t i = 0; i < firsts.size(); ++i)
    lanes.begin(int(i), index_.sample_of(firsts[i]), index_.taken_at(firsts[i]));
  const i64 longest = starts_[std::size_t(begin) + 1] - starts_[std::size_t(begin)];
  for (i64 m = 1; m < longest; ++m) {
    lanes.run(index_.stride_);
    for (std::size_t i = 0; i < firsts.size(); ++i)
      if (firsts[i] + m < starts_[std::size_t(begin) + i + 1]) index_.mark(firsts[i] + m, lanes.taken(int(i)));
  }
}

BlendIndex BlendBuilder::finish() {
  for (i64 part = 1; part < parts(); ++part) {
    GreedyBlend rule = index_.rule_at(starts_[std::size_t(part)] - 1);
    for (i64 m = starts_[std::size_t(part)]; m < starts_[std::size_t(part) + 1]; ++m) {
      rule.go_to(index_.sample_of(m));
      if (std::ranges::equal(rule.taken(), index_.taken_at(m))) break;
      index_.mark(m, rule.taken());
    }
  }
  if (const i64 end = starts_.back(); end > 0) {
    GreedyBlend rule = index_.rule_at(end - 1);
    rule.go_to(index_.size());
    index_.mark(end, rule.taken());
  }
  return std::move(index_);
}

}  // namespace megalith
