// Makes the record of each iteration: asks each metric for its value, makes one of the ranks' shares, and keeps what
// the interval since the last line needs.
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
  // `start`: where the run begins, in the middle of an interval perhaps; `train_iters`: where it ends. `peak`: flop/s
  // of a device, if known. The clock stands still until resume().
  Recorder(const Options& options, const RunProgress& start, i64 train_iters, std::optional<double> peak, Ranks& ranks,
           std::span<const Metric> metrics = all_metrics());

  // After each step. All ranks must call it if speaks(). `next_rate`: the learning rate of the next step, and
  // that of --decoupled-lr. The record
  // stays until the next call.
  const Record& take(const RunState& state, const StepResult& step, double next_rate,
                     std::optional<double> next_decoupled_rate = {});

  // Of this process, for metrics of memory: what its plan takes, and the most that it had so far.
  void tell_memory(i64 reserved_bytes, const PhaseMemory& phases, std::function<i64()> peak_bytes) {
    reserved_bytes_ = reserved_bytes, phases_ = phases, peak_bytes_ = std::move(peak_bytes);
  }

  // Of delayed scaling, as the device has them.
  void tell_scales(Fp8Scales scales) { scales_ = std::move(scales); }

  void tell_times(std::vector<NamedValue> times) { record_.times = std::move(times); }  // in the records from here on

  bool speaks() const;             // to other ranks, each iteration
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
  std::vector<const Metric*> metrics_;  // those that are wanted
  bool resumed_;
  Record record_;
  Interval interval_;
  std::vector<NamedValue> timed_;  // sums of what goes by this process's clock
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
