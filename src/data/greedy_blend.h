// Megatron's rule of blends, as a run of choices: each sample comes from the dataset that lags most behind its weight.
//
// At sample k, with t = max(k, 1), dataset d lags by weight_d * t - taken_d (the product rounded, then the difference);
// the greatest lag is chosen, the lowest dataset on ties. Comparing all of them every time would be slow for a hundred
// datasets. So there is a level that the greatest lag is expected to stay above: a dataset is compared only from the
// time at which its lag reaches the level, which is known when it is taken. If nothing lags that much the expectation
// was wrong: all are compared, and a lower level is set. So the choices are those of the plain rule whatever the level.
// Datasets of one weight take turns, and only the one whose turn it is can be chosen: they are one line.
#pragma once
#include <limits>
#include <span>
#include <vector>

#include "base/dtype.h"

namespace megalith {

class GreedyBlend {
 public:
  static constexpr i64 kNoLimit = std::numeric_limits<i64>::max();

  // `limits`: how many samples each dataset has (kNoLimit: enough); datasets of equal weight have equal limits.
  // Continues after `sample` choices of the rule, which took `taken` samples of each dataset.
  GreedyBlend(std::span<const double> weights, std::span<const i64> limits, i64 sample, std::span<const i64> taken);

  // The dataset of the next sample; the sample's index in it is taken()[dataset] before the call. Some dataset must
  // have samples left.
  int next();
  void go_to(i64 sample) {
    while (sample_ < sample) next();
  }

  i64 sample() const { return sample_; }  // choices made so far
  std::span<const i64> taken() const { return taken_; }

 private:
  struct Line {
    double weight, inverse;
    i64 limit, taken;  // of the dataset whose turn it is
    std::vector<int> datasets;
    std::size_t turn;  // of datasets
    int next;          // in the list of those that reach the level at the same time
  };
  // A line that may have reached the level.
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
  i64 window_;                     // choices of a window
  i64 begin_ = 0, end_ = 0;        // of the window: samples
  double level_ = 0, lowest_ = 0;  // the level; the lowest greatest lag seen in the window
  std::vector<int> first_at_;      // lists of the lines that reach the level at a sample of the window; -1: end
  std::vector<Compared> compared_;
};

}  // namespace megalith
