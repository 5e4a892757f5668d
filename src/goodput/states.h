// The states of a run. It is in one state at any time, so their seconds sum to its wall time.
#pragma once
#include <array>
#include <string_view>

namespace megalith {

enum class TimeState {
  init,        // from the start of the process to the first step: flags, plan, data, memory
  load,        // reads a checkpoint, or draws initial weights
  train,       // steps that no later start repeated
  data_wait,   // in such steps: waiting for samples
  eval,        // evaluation
  save_stall,  // training waits for a checkpoint
  lost,        // steps that a later start repeated
  restart,     // after a kill or an error, until the next start
  idle,        // after a normal exit, until the next start
};

inline constexpr std::array<std::string_view, 9> kTimeStates = {"init",       "load", "train",   "data_wait", "eval",
                                                                "save_stall", "lost", "restart", "idle"};
inline constexpr int kNumTimeStates = int(kTimeStates.size());

// Seconds of each state, by index.
using TimeSums = std::array<double, kTimeStates.size()>;

}  // namespace megalith
