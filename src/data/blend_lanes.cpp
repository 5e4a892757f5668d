#include "data/blend_lanes.h"

#include <limits>

namespace megalith {

void BlendLanes::begin(int lane, i64 sample, std::span<const i64> taken) {
  const auto vector = std::size_t(lane / kWidth);
  sample_[vector][lane % kWidth] = double(sample);
  for (std::size_t d = 0; d < taken.size(); ++d) taken_[d][vector][lane % kWidth] = double(taken[d]);
}

std::vector<i64> BlendLanes::taken(int lane) const {
  std::vector<i64> taken;
  for (const Lanes& all : taken_) taken.push_back(i64(all[std::size_t(lane / kWidth)][lane % kWidth]));
  return taken;
}

void BlendLanes::choose() {
  Doubles time[kVectors], greatest[kVectors];
  Integers best[kVectors], dataset{};
  for (int v = 0; v < kVectors; ++v) {
    time[v] = sample_[v] > 1.0 ? sample_[v] : 1.0 - Doubles{};
    greatest[v] = std::numeric_limits<double>::lowest() - Doubles{};
    best[v] = dataset;
  }
  for (std::size_t d = 0; d < weights_.size(); ++d, dataset += 1) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const Doubles due = weights_[d] * time[v], lag = due - taken_[d][v];
      best[v] = lag > greatest[v] ? dataset : best[v];  // the first of equal ones
      greatest[v] = greatest[v] > lag ? greatest[v] : lag;
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    for (int i = 0; i < kWidth; ++i) taken_[best[v][i]][v][i] += 1;
    sample_[v] += 1.0;
  }
}

void BlendLanes::run(i64 choices) {
  for (i64 k = 0; k < choices; ++k) choose();
}

}  // namespace megalith
