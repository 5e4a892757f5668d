#include "data/blend_index.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace megalith {

BlendPlan plan_blend(std::vector<double> weights, i64 size) {
  std::vector<i64> limits(weights.size(), GreedyBlend::kNoLimit);
  return {std::move(weights), std::move(limits), size};
}

BlendPlan plan_exhaustive_blend(std::span<const i64> sizes) {
  const i64 total = std::accumulate(sizes.begin(), sizes.end(), i64{0});
  BlendPlan plan{{}, {sizes.begin(), sizes.end()}, total};
  for (i64 size : sizes) plan.weights.push_back(double(size) / double(total));
  return plan;
}

BlendIndex::BlendIndex(BlendPlan plan) : plan_(std::move(plan)) {
  constexpr std::size_t most = std::numeric_limits<std::int16_t>::max();
  check(!plan_.weights.empty() && datasets() <= most, "a blend of {} datasets cannot be made: 1 to {} can be mixed",
        datasets(), most);
  stride_ = std::max<i64>(2048, 16 * i64(datasets()));
  marks_.resize(std::size_t(marks()) * datasets());
}

void BlendIndex::mark(i64 mark, std::span<const i64> taken) {
  std::ranges::copy(taken, marks_.begin() + std::ptrdiff_t(std::size_t(mark) * datasets()));
}

std::span<const i64> BlendIndex::taken_at(i64 mark) const {
  return std::span(marks_).subspan(std::size_t(mark) * datasets(), datasets());
}

std::optional<BlendIndex> BlendIndex::from_files(BlendPlan plan, StoredArray<std::int16_t> datasets,
                                                 StoredArray<i64> samples) {
  BlendIndex index(std::move(plan));
  std::vector<i64> taken(index.datasets());
  for (i64 k = 0; k < index.size(); ++k) {
    if (k % index.stride_ == 0) index.mark(k / index.stride_, taken);
    const auto d = std::size_t(datasets[k]);  // a negative index becomes too large
    if (d >= taken.size() || taken[d] >= index.plan_.limits[d] || samples[k] != taken[d]) return std::nullopt;
    ++taken[d];
  }
  index.mark(index.marks() - 1, taken);
  index.datasets_ = std::move(datasets), index.samples_ = std::move(samples);
  return index;
}

GreedyBlend BlendIndex::rule_at(i64 mark) const {
  return {plan_.weights, plan_.limits, mark * stride_, taken_at(mark)};
}

BlendedSample BlendIndex::at(i64 k) const {
  check(k >= 0 && k < size(), "the blend has {} samples: there is no sample {}", size(), k);
  if (!datasets_.empty()) return {datasets_[k], samples_[k]};
  GreedyBlend rule = rule_at(k / stride_);
  rule.go_to(k);
  const int d = rule.next();
  return {std::int16_t(d), rule.taken()[std::size_t(d)] - 1};
}

std::vector<i64> BlendIndex::taken_before(i64 k) const {
  check(k >= 0 && k <= size(), "the blend has {} samples: there are no {}", size(), k);
  const i64 mark = k == size() ? marks() - 1 : k / stride_;
  std::vector<i64> taken(taken_at(mark).begin(), taken_at(mark).end());
  if (k == size()) return taken;
  if (datasets_.empty()) {
    GreedyBlend rule = rule_at(mark);
    rule.go_to(k);
    return {rule.taken().begin(), rule.taken().end()};
  }
  for (i64 i = mark * stride_; i < k; ++i) ++taken[std::size_t(datasets_[i])];
  return taken;
}

}  // namespace megalith
