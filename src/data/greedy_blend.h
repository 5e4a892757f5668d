// Megatron's blending rule: each sample comes from the dataset whose share is furthest below its weight.
//
// At sample k, with t = max(k, 1), the lag of dataset d is weight_d * t - taken_d. The product is rounded, then the
// difference. On ties the lowest dataset is chosen. Comparing all datasets for each sample would be slow for a
// hundred datasets. So there is a level that the greatest lag is expected to exceed. A dataset is compared only from
// the sample at which its lag reaches the level; this sample is known when the dataset is used. If no lag reaches the
// level, all datasets are compared and the level is lowered. So the choices do not depend on the level. Datasets of
// equal weight take turns, and only the next of them can be chosen: they are one line.
#pragma once
#include <limits>
#include <span>
#include <vector>

#include "base/dtype.h"

namespace megalith {

class GreedyBlend {
 public:
  static constexpr i64 kNoLimit = std::numeric_limits<i64>::max();

  // `limits`: number of samples of each dataset (kNoLimit: unlimited); datasets of equal weight have equal limits.
  // Continues after `sample` choices of the rule, which took `taken` samples of each dataset.
  GreedyBlend(std::span<const double> weights, std::span<const i64> limits, i64 sample, std::span<const i64> taken);

  // The dataset of the next sample. The sample's index in it is taken()[dataset] before the call. Some dataset must
  // have samples left.
  int next();
  void go_to(i64 sample) {
    while (sample_ < sample) next();
  }

  i64 sample() const { return sample_; }  // number of choices so far
  std::span<const i64> taken() const { return taken_; }

 private:
  struct Line {
    double weight, inverse;
    i64 limit, taken;  // of the line's next dataset
    std::vector<int> datasets;
    std::size_t turn;  // of datasets
    int next;          // next line in the list of the same sample
  };
  // A line whose lag may have reached the level.
  struct Compared {
    double weight, taken;
    i64 line;
  };

  void begin_window(double level);
  void compare(int line);
  void place(int line);
  double reached_at(const Line& line) const;
  void take_turn(Line& line);
  std::size_t choose_of_compared(double time, double& greatest) const;
  std::size_t lowest_of_compared(double time, double lag) const;
  void choose_level(double time);

  std::vector<Line> lines_;
  std::vector<i64> taken_;
  i64 sample_;
  i64 window_;                     // choices per window
  i64 begin_ = 0, end_ = 0;        // samples of the window
  double level_ = 0, lowest_ = 0;  // lowest_: the smallest greatest lag in this window
  std::vector<int> first_at_;  // for each sample of the window: the first line that reaches the level then; -1: none
  std::vector<Compared> compared_;
};

}  // namespace megalith
