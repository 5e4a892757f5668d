// What one training iteration and one logging interval leave behind for the console, TensorBoard and the metrics file.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct NamedValue {
  std::string name;
  double value = 0;
};

// One iteration, counters after it. `learning_rate` is the one that the next step will use, as Megatron logs it.
struct IterationRecord {
  i64 iteration = 0;
  i64 train_iters = 0;
  i64 consumed_samples = 0;
  i64 skipped_samples = 0;
  double learning_rate = 0;
  i64 global_batch_size = 0;
  std::vector<NamedValue> losses{};  // of this iteration: "lm loss"
  double loss_scale = 1;
  std::optional<double> grad_norm{};
  std::optional<i64> num_zeros{};
  std::optional<double> params_norm{};
};

// The iterations since the last line.
struct Interval {
  double seconds_per_iteration = 0;
  std::vector<NamedValue> mean_losses{};  // over the advanced iterations; NaN if there was none
  i64 advanced = 0;
  i64 skipped = 0;
  i64 nan = 0;
};

// How fast an interval went: tokens over all devices, model TFLOP/s of each, and their share of its peak.
struct Speed {
  double tokens_per_second = 0;
  int devices = 1;
  std::optional<double> tflops{};
  std::optional<double> mfu{};
  double data_wait = 0;  // seconds per iteration in which the step waited for a batch to be read
};

}  // namespace megalith
