// Weight decay as a function of the samples trained on so far: constant, or rising from start to end over the whole run
// (Megatron's --weight-decay-incr-style). Parameter groups multiply it by their own 0 or 1.
#pragma once
#include <optional>

#include "base/dtype.h"
#include "optim/config.h"

namespace megalith {

using WdIncrease = WeightDecayIncrStyle;

struct WdSchedule {
  WdIncrease style = WdIncrease::constant;
  double start = 0.01;
  double end = 0.01;
  double total_samples = 1;

  // start + c (end - start) with r = samples / total: linear c = r, cosine c = (cos(pi (1 - r)) + 1) / 2; beyond total:
  // end.
  double at(i64 samples) const;
};

struct WdFlags {
  WdIncrease style = WdIncrease::constant;
  double weight_decay = 0.01;
  std::optional<double> start{};  // both with linear and cosine, neither with constant
  std::optional<double> end{};
};

// total_samples: of the whole run (TrainLength::samples). Errors name the flag.
WdSchedule make_wd_schedule(const WdFlags& flags, double total_samples);

}  // namespace megalith
