// Makes the record of each iteration: computes each metric, reduces the ranks' values, and keeps sums since the last
// line.
#pragma once
#include <functional>
#include <optional>

#include "comm/ranks.h"
#include "observe/last_values.h"
#include "observe/record.h"
#include "observe/timers.h"
#include "resume/checkpointing.h"
#include "step/model_size.h"

namespace megalith {

class Recorder {
 public:
  // `start`: the first iteration, possibly in the middle of an interval; `train_iters`: the last. `peak`: flop/s of a
  // device, if known. The clock starts with resume().
  Recorder(const Options& options, const RunProgress& start, i64 train_iters, std::optional<double> peak, Ranks& ranks,
           std::span<const Metric> metrics = all_metrics());

  // Called after each step, on all ranks if speaks(). `next_rate`: the learning rate of the next step, and that of
  // --decoupled-lr. The record is valid until the next call.
  const Record& take(const RunState& state, const StepResult& step, double next_rate,
                     std::optional<double> next_decoupled_rate = {});

  // Memory of this process: its plan, and its peak so far.
  void tell_memory(i64 reserved_bytes, const PhaseMemory& phases, std::function<i64()> peak_bytes) {
    reserved_bytes_ = reserved_bytes, phases_ = phases, peak_bytes_ = std::move(peak_bytes);
  }

  // Sets the host copy of the delayed scales.
  void tell_scales(Fp8Scales scales) { scales_ = std::move(scales); }

  // Adds them to all following records.
  void tell_times(std::vector<NamedValue> times) { record_.times = std::move(times); }

  // Adds the mean seconds of an iteration's phases to the last record.
  void tell_phases(std::span<const NamedValue> seconds) { record_.phases.assign(seconds.begin(), seconds.end()); }

  bool speaks() const;             // whether other ranks need it in each iteration
  void pause() { watch_.stop(); }  // evaluation and saving are not training time
  void resume() { watch_.start(); }
  const Interval& interval() const { return interval_; }  // since the last line

 private:
  std::vector<MetricValue> values_of(const Seen& seen) const;
  void reduce_over_ranks(std::vector<MetricValue>& values) const;
  void reduce_over_interval(std::vector<MetricValue>& values, bool counted);
  double add(const MetricValue& v, bool counted);
  void start_interval();

  const Options& options_;
  std::optional<double> peak_;
  ModelSize size_;
  Ranks& ranks_;
  std::vector<const Metric*> metrics_;  // enabled metrics
  bool resumed_;
  Record record_;
  Interval interval_;
  std::vector<NamedValue> timed_;  // sums since this process started
  i64 timed_iterations_ = 0;
  double seconds_ = 0;  // of this process since the last line
  Stopwatch watch_;
  LastValues times_;  // of the last iterations
  i64 reserved_bytes_ = 0;
  PhaseMemory phases_;
  std::function<i64()> peak_bytes_;
  std::optional<Fp8Scales> scales_;
};

}  // namespace megalith
