// The learning rate as a function of the samples trained so far (Megatron's OptimizerParamScheduler). The counter is in
// samples even if the flags are in iterations: those are multiplied by the constant global batch size. Only successful
// steps count. A step uses the count before it, so the first step runs at at(0).
#pragma once
#include <optional>

#include "base/dtype.h"
#include "optim/config.h"

namespace megalith {

using LrDecay = LrDecayStyle;
using WsdDecay = WsdDecayStyle;

// All lengths in samples. Warmup may be a fraction of a sample: --lr-warmup-fraction is not rounded.
// A parameter group with its own rates copies the schedule and changes max_lr and min_lr.
struct LrSchedule {
  LrDecay style = LrDecay::linear;
  WsdDecay wsd_style = WsdDecay::exponential;
  double max_lr = 0;
  double min_lr = 0;
  double warmup_init = 0;        // the rate at sample 0
  double warmup_samples = 0;     // W
  double decay_samples = 1;      // N: includes the warmup
  double wsd_decay_samples = 0;  // the last part of N

  // n <= W: init + (max - init) n / W. Then constant: max; beyond N: min; inverse square root: max sqrt(max(W, 1) / n),
  // at least min; the others: `min + c (max - min)`. c falls from 1 to 0 over W..N, or over the last wsd_decay_samples
  // of N.
  double at(i64 samples) const;
};

// The length of a run: exactly one of the first two is given, 0 means "not given".
struct TrainLength {
  i64 train_iters = 0;
  i64 train_samples = 0;
  i64 global_batch_size = 1;

  double samples() const {
    return train_samples > 0 ? double(train_samples) : double(train_iters) * double(global_batch_size);
  }
};

// The flags as given: --lr, --min-lr, --lr-warmup-init, --lr-decay-style, --lr-wsd-decay-style, --lr-decay-iters and
// so on.
struct LrFlags {
  LrDecay decay_style = LrDecay::linear;
  WsdDecay wsd_decay_style = WsdDecay::exponential;
  double lr = 0;
  double min_lr = 0;
  double warmup_init = 0;
  std::optional<i64> decay_iters{};  // none: the whole run
  std::optional<i64> decay_samples{};
  i64 warmup_iters = 0;
  i64 warmup_samples = 0;
  std::optional<double> warmup_fraction{};  // of the decay length
  std::optional<i64> wsd_decay_iters{};
  std::optional<i64> wsd_decay_samples{};
};

// Errors (naming the flag): negative or crossed rates; iteration flags with --train-samples and the other way round;
// warmup given twice or not shorter than the decay; WSD without its decay length, or with one longer than the decay.
LrSchedule make_lr_schedule(const LrFlags& flags, const TrainLength& length);

}  // namespace megalith
