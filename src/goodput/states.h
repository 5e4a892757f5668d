// What a run can be doing. At each moment it is in one of these states, so their seconds add up to its wall time.
#pragma once
#include <array>
#include <string_view>

namespace megalith {

enum class TimeState {
  init,        // from the process's start to its first step: flags, plan, data, memory
  load,        // reads a checkpoint, or draws weights
  train,       // steps that a later start did not make again
  data_wait,   // of such steps: waited for samples
  eval,        // losses on other sets
  save_stall,  // training waits for a checkpoint
  lost,        // behind the checkpoint that a later start went on from
  restart,     // between a start that was ended from outside, or by an error, and the next one
  idle,        // between a start that ended in order and the next one
};

inline constexpr std::array<std::string_view, 9> kTimeStates = {"init",       "load", "train",   "data_wait", "eval",
                                                                "save_stall", "lost", "restart", "idle"};
inline constexpr int kNumTimeStates = int(kTimeStates.size());

// Seconds in each state, by its number.
using TimeSums = std::array<double, kTimeStates.size()>;

}  // namespace megalith
