// Everything a training run tells while it goes: Megatron's console lines, the live progress line, TensorBoard, the
// metrics file, and at the end the curve of the losses.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "observe/interval_stats.h"
#include "observe/log_line.h"
#include "observe/loss_chart.h"
#include "observe/metrics_file.h"
#include "observe/progress.h"
#include "observe/tensorboard.h"
#include "observe/timers.h"
#include "resume/checkpointing.h"
#include "settings/options.h"
#include "step/trainer.h"

namespace megalith {

class RunLog {
 public:
  // `start`: where the run begins, in the middle of an interval perhaps; `train_iters`: where it ends. The clock stands
  // still until resume(). `devices` work on the run, `peak`: flop/s of one, if known, for MFU. `speaks`: of several
  // ranks one writes files.
  RunLog(const Options& options, const RunProgress& start, i64 train_iters, int devices, std::optional<double> peak,
         bool speaks = true);

  // After each step. `next_lr`: the rate of the next one. True if an interval ends here and its line was said.
  bool step(const RunState& state, const StepResult& result, double next_lr);
  // `where`: "iteration 100", "iteration 100 on test set". Goes to TensorBoard and the metrics only with `record`.
  // `set`: of several, "-wiki" or "-0".
  void validation(const std::string& where, const RunState& state, double loss, bool record,
                  const std::string& set = "");

  void pause() { watch_.stop(); }  // evaluation and saving are not training time
  void resume() { watch_.start(); }
  void finish();                                              // flushes, draws the curve
  const Interval& interval() const { return stats_.sums(); }  // since the last line: sums

 private:
  void first_line(double finished);  // the step behind it, by steady_seconds()
  void interval_line(double finished);
  std::string console_line(const Interval& interval, const Speed& speed) const;
  Speed speed(double seconds) const;  // of the steps since the last line, which took so long

  const Options& options_;
  int devices_;
  std::optional<double> peak_;
  double flops_per_sample_;
  i64 tokens_per_sample_;
  i64 interval_samples_ = 0;  // of this process since the last line, and the iterations they took
  i64 timed_iterations_ = 0;
  double interval_data_wait_ = 0;  // seconds, of these
  bool first_ = true;
  bool resumed_;
  IterationRecord record_;
  IntervalStats stats_;
  Stopwatch watch_;
  std::unique_ptr<TensorBoardWriter> tensorboard_;
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<Progress> progress_;
  std::vector<ChartPoint> curve_, validation_curve_;
};

}  // namespace megalith
