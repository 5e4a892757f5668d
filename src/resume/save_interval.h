// --save-interval auto: the cheapest interval between saves, from the run's measured step and save times.
#pragma once
#include <chrono>
#include <string>

#include "comm/ranks.h"
#include "settings/options.h"

namespace megalith {

// The measurements of one rank.
struct SaveTimes {
  double stall = 0;         // seconds that the last save delayed training
  double step_seconds = 0;  // of a step since the previous save
};

class SaveInterval {
 public:
  // `begin`: the run's first iteration. The first save is early, because only saves show their cost.
  SaveInterval(const TrainConfig& t, Ranks& ranks, i64 begin);

  bool is_due(i64 iteration) const { return due_ == iteration; }
  // Called around work that is not training, such as an evaluation.
  void pause();
  void resume();
  // Collective: called when training continues after a save. The slowest rank's times count.
  void saved(i64 iteration, double stall);

 private:
  static constexpr i64 kFirst = 10;  // iterations

  Ranks& ranks_;
  bool on_;
  double failure_seconds_;  // mean time between failures of any GPU
  i64 from_, due_ = -1;     // iterations; -1: no automatic saves
  double trained_ = 0;      // seconds since `from_`
  std::chrono::steady_clock::time_point resumed_{};
  bool runs_ = false;
};

}  // namespace megalith
