// Curves of TensorBoard and W&B that are not in the table of metrics. Megatron's flags enable them.
#pragma once
#include "observe/record.h"

namespace megalith {

struct CurveFlags {
  bool timers = false, perplexity = false;
};

inline CurveFlags curve_flags_of(const TrainConfig& t) {
  return {t.log_timers_to_tensorboard, t.log_validation_ppl_to_tensorboard};
}

// Megatron's name of the time during which training was paused.
inline const char* timer_of(Away where) { return where == Away::evaluating ? "evaluate-time" : "save-checkpoint-time"; }
// Megatron's name of a phase.
inline std::string timer_of(const NamedValue& seconds) { return seconds.name + "-time"; }

}  // namespace megalith
