// --save-interval auto: saves as far apart as they cost least, by what steps and saves of this run were seen to take.
#pragma once
#include <chrono>
#include <string>

#include "comm/ranks.h"
#include "settings/options.h"

namespace megalith {

// What one rank has seen.
struct SaveTimes {
  double stall = 0;         // seconds that the last save held training up
  double step_seconds = 0;  // of a step since the save before
};

class SaveInterval {
 public:
  // `begin`: the run's first iteration. The first save is early, because only saves show their cost.
  SaveInterval(const TrainConfig& t, Ranks& ranks, i64 begin);

  bool is_due(i64 iteration) const { return due_ == iteration; }
  // Around what is no training.
  void pause();
  void resume();
  // To be called by all ranks once a save lets training go on. All take the longest times of any rank.
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
