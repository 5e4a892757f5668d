// --save-interval auto: the cheapest spacing of saves, from the run's measured times of steps and saves.
#pragma once
#include <chrono>
#include <string>

#include "comm/ranks.h"
#include "settings/options.h"

namespace megalith {

// The measurements of one rank.
struct SaveTimes {
  double stall = 0;         // seconds that the last save held training up
  double step_seconds = 0;  // of a step since the save before
};

class SaveInterval {
 public:
  // `begin`: the run's first iteration. The first save is early, because only saves show their cost.
  SaveInterval(const TrainConfig& t, Ranks& ranks, i64 begin);

  bool is_due(i64 iteration) const { return due_ == iteration; }
  // Called around work that is not training.
  void pause();
  void resume();
  // All ranks call it when a save lets training continue. All use the longest times of any rank.
  void saved(i64 iteration, double stall);

 private:
  static constexpr i64 kFirst = 10;  // iterations

  Ranks& ranks_;
  bool on_;
  double failure_seconds_;  // between two failures of any GPU
  i64 from_, due_ = -1;     // iterations; -1: no automatic saves
  double trained_ = 0;      // seconds since `from_`
  std::chrono::steady_clock::time_point resumed_{};
  bool runs_ = false;
};

}  // namespace megalith
