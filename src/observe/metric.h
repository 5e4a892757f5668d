// A metric is a value that a run reports each iteration. The table in metrics.cpp declares them all; the recorder
// computes their values, and sinks show them. No other code knows a metric by name.
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

// What a metric's value is made from, after a finished step.
struct Seen {
  const Options& options;
  const RunState& state;  // after the step
  const StepResult& step;
  const Interval& interval;  // with this step
  std::vector<NamedValue> losses{};
  double next_rate = 0;                         // the learning rate of the next step
  std::optional<double> next_decoupled_rate{};  // that of --decoupled-lr
  double seconds = 0;                           // of training since the step before
  double time_deviation = 0;                    // of the last 100 iterations' seconds
  int devices = 1;
  std::optional<double> peak{};  // flop/s of one device, if known
  double flops = 0;              // of the step: model flops (step/model_size.h)
  double parameters = 0;         // of the model: elements that exist
  struct Memory {
    i64 reserved = 0, peak = 0;  // bytes of this process
    PhaseMemory phases{};
  };
  std::optional<Memory> memory{};
  std::optional<Fp8Health> scales{};  // of delayed scaling, where it is told
};

// How the shares of the ranks become one value.
enum class OverRanks : u8 {
  same,  // every rank knows the value
  sum,
  max,
};

// How the values since the last line become one.
enum class OverInterval : u8 {
  last,
  mean,  // of the steps that counted; NaN without one
  sum,
  max,   // of the steps that counted; NaN without one
  each,  // the mean of all iterations of this process
  rate,  // a second of this process's training
};

enum class Curve : u8 {
  by_both,       // each iteration, by iterations and as "NAME vs samples" by samples
  by_iteration,  // each iteration
  of_interval,   // the interval's value at its end, by iterations
};

// Where and how a metric is shown. In names, {} stands for the name of the term. "": not there.
struct OnConsole {
  std::string_view name{};
  std::string_view format = "{:.3f}";
  double scale = 1;                    // shown is the value times this
  bool TrainConfig::*asked = nullptr;  // the flag that shows it; nullptr: it is shown always
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
  std::string_view unit{};             // of the value, without a prefix: "s", "tokens/s"; "": a plain number
  bool whole = false;                  // it counts something
  bool unless_zero = false;            // 0 is not told
  bool TrainConfig::*asked = nullptr;  // the flag that asks for it; nullptr: it is there always
  std::optional<double> (*of)(const Seen&) = nullptr;       // one value, or none where it is not known
  std::vector<NamedValue> (*terms)(const Seen&) = nullptr;  // or any number of named ones
  OverRanks over_ranks = OverRanks::same;                   // then all ranks must have as many values
  OverInterval over_interval = OverInterval::last;
  OnConsole console{};
  InMetricsFile file{};
  InTensorBoard tensorboard{};
};

// All metrics, in the console's order.
std::span<const Metric> all_metrics();
// The order of the metrics file and of TensorBoard: these first, then the others in the table's order.
std::span<const std::string_view> first_in_metrics_file();
std::span<const std::string_view> first_in_tensorboard();

}  // namespace megalith
