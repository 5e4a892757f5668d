#include "optim/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace megalith {

static double falling_cosine(double ratio) { return 0.5 * (std::cos(std::numbers::pi * ratio) + 1); }

static double wsd_coefficient(WsdDecay style, double ratio) {
  switch (style) {
    case WsdDecay::exponential:
      return 2 * std::pow(0.5, ratio) - 1;
    case WsdDecay::linear:
      return 1 - ratio;
    case WsdDecay::cosine:
      return falling_cosine(ratio);
    case WsdDecay::minus_sqrt:
      return 1 - std::sqrt(ratio);
  }
  fail("WSD decay style {} is not one of exponential, linear, cosine, minus_sqrt", int(style));
}

double LrSchedule::at(i64 samples) const {
  const double n = double(samples), W = warmup_samples, N = decay_samples;
  if (W > 0 && n <= W) return warmup_init + (max_lr - warmup_init) * n / W;
  if (style == LrDecay::constant) return max_lr;
  if (n > N) return min_lr;
  if (style == LrDecay::inverse_square_root)
    return std::max(min_lr, max_lr * std::sqrt(std::max(W, 1.0)) / std::sqrt(std::max(n, 1.0)));
  const double ratio = (n - W) / (N - W), stable_end = N - wsd_decay_samples;
  double coefficient = 1;
  if (style == LrDecay::linear) coefficient = 1 - ratio;
  if (style == LrDecay::cosine) coefficient = falling_cosine(ratio);
  if (style == LrDecay::wsd && n > stable_end)
    coefficient = wsd_coefficient(wsd_style, (n - stable_end) / wsd_decay_samples);
  return min_lr + coefficient * (max_lr - min_lr);
}

static void check_rates(const LrFlags& f) {
  check(std::isfinite(f.lr) && f.lr >= 0, "--lr is {}: give a number that is not negative", f.lr);
  check(f.min_lr >= 0 && f.min_lr <= f.lr, "--min-lr is {}: give a number from 0 to --lr ({})", f.min_lr, f.lr);
  check(f.warmup_init >= 0 && f.warmup_init <= f.lr, "--lr-warmup-init is {}: give a number from 0 to --lr ({})",
        f.warmup_init, f.lr);
}

static void check_units(const LrFlags& f, const TrainLength& length) {
  check((length.train_iters > 0) != (length.train_samples > 0),
        "--train-iters is {} and --train-samples is {}: give one of them, above 0", length.train_iters,
        length.train_samples);
  check(length.global_batch_size > 0, "--global-batch-size is {}: give a number above 0", length.global_batch_size);
  if (length.train_samples > 0) {
    check(!f.decay_iters, "--lr-decay-iters goes with --train-iters: with --train-samples give --lr-decay-samples");
    check(f.warmup_iters == 0,
          "--lr-warmup-iters goes with --train-iters: with --train-samples give --lr-warmup-samples");
    check(!f.wsd_decay_iters,
          "--lr-wsd-decay-iters goes with --train-iters: with --train-samples give --lr-wsd-decay-samples");
  } else {
    check(!f.decay_samples, "--lr-decay-samples goes with --train-samples: with --train-iters give --lr-decay-iters");
    check(f.warmup_samples == 0,
          "--lr-warmup-samples goes with --train-samples: with --train-iters give --lr-warmup-iters");
    check(!f.wsd_decay_samples,
          "--lr-wsd-decay-samples goes with --train-samples: with --train-iters give --lr-wsd-decay-iters");
  }
}

static double warmup_samples(const LrFlags& f, double decay_samples, double unit) {
  check(f.warmup_iters >= 0 && f.warmup_samples >= 0,
        "the learning rate's warmup is {} iterations, {} samples: give 0 or more", f.warmup_iters, f.warmup_samples);
  if (!f.warmup_fraction) return f.warmup_iters > 0 ? double(f.warmup_iters) * unit : double(f.warmup_samples);
  check(f.warmup_iters == 0 && f.warmup_samples == 0,
        "--lr-warmup-fraction {} is given with a warmup of {} iterations, {} samples: give one of them",
        *f.warmup_fraction, f.warmup_iters, f.warmup_samples);
  check(*f.warmup_fraction >= 0 && *f.warmup_fraction < 1,
        "--lr-warmup-fraction is {}: give a number from 0 to below 1", *f.warmup_fraction);
  return *f.warmup_fraction * decay_samples;
}

LrSchedule make_lr_schedule(const LrFlags& f, const TrainLength& length) {
  check_rates(f);
  check_units(f, length);
  const double unit = length.train_samples > 0 ? 1 : double(length.global_batch_size);
  const auto in_samples = [&](std::optional<i64> iters, std::optional<i64> samples) {
    return double(iters ? *iters : *samples) * unit;
  };
  LrSchedule s{.style = f.decay_style,
               .wsd_style = f.wsd_decay_style,
               .max_lr = f.lr,
               .min_lr = f.min_lr,
               .warmup_init = f.warmup_init};
  s.decay_samples = f.decay_iters || f.decay_samples ? in_samples(f.decay_iters, f.decay_samples) : length.samples();
  check(s.decay_samples > 0, "the learning rate's decay length is {} samples: give a number above 0", s.decay_samples);
  s.warmup_samples = warmup_samples(f, s.decay_samples, unit);
  check(s.warmup_samples < s.decay_samples,
        "the learning rate's warmup ({} samples) is not shorter than its decay ({} samples, warmup included): shorten "
        "--lr-warmup-iters or --lr-warmup-samples, or lengthen the decay",
        s.warmup_samples, s.decay_samples);
  if (s.style == LrDecay::wsd) {
    check(
        f.wsd_decay_iters || f.wsd_decay_samples,
        "--lr-decay-style WSD needs the length of its last part: give --lr-wsd-decay-iters or --lr-wsd-decay-samples");
    s.wsd_decay_samples = in_samples(f.wsd_decay_iters, f.wsd_decay_samples);
    check(s.wsd_decay_samples > 0 && s.wsd_decay_samples <= s.decay_samples,
          "the last part of the WSD decay is {} samples: give more than 0 and at most the decay's {}",
          s.wsd_decay_samples, s.decay_samples);
  }
  return s;
}

}  // namespace megalith
