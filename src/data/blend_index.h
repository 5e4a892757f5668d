// Maps each sample of a blend to its dataset. After Megatron's build_blending_indices and
// build_exhaustive_blending_indices.
#pragma once
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "data/greedy_blend.h"
#include "data/stored_array.h"

namespace megalith {

// The parameters of a blend index.
struct BlendPlan {
  std::vector<double> weights;  // normalized
  std::vector<i64> limits;      // number of samples of each dataset; empty: no limit
  i64 size = 0;                 // samples
};
BlendPlan plan_blend(std::vector<double> weights, i64 size);
BlendPlan plan_exhaustive_blend(std::span<const i64> sizes);  // until every dataset is exhausted

struct BlendedSample {
  std::int16_t dataset = 0;
  i64 sample = 0;  // index in that dataset
  bool operator==(const BlendedSample&) const = default;
};

// Keeps the counts of each dataset at marks, every few thousand samples. Samples between marks are found by the rule,
// or in files. So 10^9 samples of 100 datasets take 0.4 GB instead of 10.
class BlendIndex {
 public:
  // Applies the rule from the first sample to the last. Error if there are too many datasets. Calls
  // `each(BlendedSample)` for every sample in order.
  template <class Each>
  BlendIndex(BlendPlan plan, Each&& each) : BlendIndex(std::move(plan)) {
    GreedyBlend rule(plan_.weights, plan_.limits, 0, std::vector<i64>(datasets()));
    for (i64 k = 0; k < plan_.size; ++k) {
      if (k % stride_ == 0) mark(k / stride_, rule.taken());
      const int d = rule.next();
      each(BlendedSample{std::int16_t(d), rule.taken()[std::size_t(d)] - 1});
    }
    mark(marks() - 1, rule.taken());
  }

  // From arrays of plan.size elements in files. Empty if they use a dataset's samples out of order or beyond its
  // limit.
  static std::optional<BlendIndex> from_files(BlendPlan plan, StoredArray<std::int16_t> datasets,
                                              StoredArray<i64> samples);

  i64 size() const { return plan_.size; }
  BlendedSample at(i64 k) const;               // 0 <= k < size()
  std::vector<i64> taken_before(i64 k) const;  // number of samples of each dataset in 0 .. k - 1; 0 <= k <= size()
  std::size_t datasets() const { return plan_.weights.size(); }

 private:
  friend class BlendBuilder;

  explicit BlendIndex(BlendPlan plan);  // without marks
  i64 marks() const { return (plan_.size + stride_ - 1) / stride_ + 1; }
  i64 sample_of(i64 mark) const { return std::min(mark * stride_, plan_.size); }
  void mark(i64 mark, std::span<const i64> taken);
  std::span<const i64> taken_at(i64 mark) const;
  GreedyBlend rule_at(i64 mark) const;

  BlendPlan plan_;
  i64 stride_;
  StoredArray<std::int16_t> datasets_;  // from files; empty: the rule is used
  StoredArray<i64> samples_;
  std::vector<i64> marks_;  // [marks, datasets]; the last mark is after the last sample
};

}  // namespace megalith
