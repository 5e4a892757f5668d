// A metric is a value that a run reports in each iteration. The table in metrics.cpp declares all of them. The
// recorder computes the values, and sinks show them. No other code knows a metric by name.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/named_value.h"
#include "observe/fp8_scales.h"
#include "resume/interval.h"
#include "settings/options.h"
#include "step/phase_memory.h"
#include "step/trainer.h"

namespace megalith {

// The input of a metric, after a finished step.
struct Seen {
  const Options& options;
  const RunState& state;  // after the step
  const StepResult& step;
  const Interval& interval;  // including this step
  std::vector<NamedValue> losses{};
  double next_rate = 0;                         // learning rate of the next step
  std::optional<double> next_decoupled_rate{};  // --decoupled-lr's rate of the next step
  double seconds = 0;                           // training time since the previous step
  double at = 0;                                // Unix time
  double time_deviation = 0;                    // seconds of the last 100 iterations
  int devices = 1;
  std::optional<double> peak{};  // peak flop/s of one device, if known
  double flops = 0;              // model flops of the step (step/model_size.h)
  double parameters = 0;         // number of elements of the model
  struct Memory {
    i64 reserved = 0, peak = 0;  // bytes of this process
    PhaseMemory phases{};
  };
  std::optional<Memory> memory{};
  std::optional<Fp8Health> scales{};  // statistics of delayed scaling, if collected
};

// How the values of the ranks are reduced to one.
enum class OverRanks : u8 {
  same,  // all ranks have the same value
  sum,
  max,
};

// How the values since the last log line are reduced to one.
enum class OverInterval : u8 {
  last,
  mean,  // over steps that were not skipped; NaN if there are none
  sum,
  max,   // over steps that were not skipped; NaN if there are none
  each,  // mean of all iterations of this process
  rate,  // per second of training time of this process
};

enum class Curve : u8 {
  by_both,       // each iteration: by iterations, and as "NAME vs samples" by samples
  by_iteration,  // each iteration
  of_interval,   // the interval's value at its end, by iterations
};

// Where and how a metric is shown. In names, {} stands for the name of the term. An empty name: not shown there.
struct OnConsole {
  std::string_view name{};
  std::string_view format = "{:.3f}";
  double scale = 1;                    // the shown value is multiplied by this
  bool TrainConfig::*asked = nullptr;  // the flag that shows it; nullptr: always shown
};
struct InMetricsFile {
  std::string_view name{};
  double scale = 1;
};
struct InTensorBoard {
  std::string_view name{};
  Curve curve = Curve::by_both;
};

struct Metric {
  std::string_view name;
  std::string_view unit{};             // unit of the value, without a prefix: "s", "tokens/s"; "": a plain number
  bool whole = false;                  // it is a count
  bool unless_zero = false;            // zero is not reported
  bool TrainConfig::*asked = nullptr;  // the flag that enables it; nullptr: always enabled
  std::optional<double> (*of)(const Seen&) = nullptr;       // one value; empty if unknown
  std::vector<NamedValue> (*terms)(const Seen&) = nullptr;  // alternative: any number of named values
  OverRanks over_ranks = OverRanks::same;  // with `terms`, all ranks must have the same number of values
  OverInterval over_interval = OverInterval::last;
  OnConsole console{};
  InMetricsFile file{};
  InTensorBoard tensorboard{};
};

// All metrics, in the console's order.
std::span<const Metric> all_metrics();
// The first metrics in the metrics file and TensorBoard. The others follow in the table's order.
std::span<const std::string_view> first_in_metrics_file();
std::span<const std::string_view> first_in_tensorboard();

}  // namespace megalith
