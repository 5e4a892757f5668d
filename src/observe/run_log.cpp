#include "observe/run_log.h"

#include "base/log.h"
#include "step/flops.h"

namespace megalith {

RunLog::RunLog(const Options& options, const RunProgress& start, i64 train_iters, int devices,
               std::optional<double> peak, bool speaks)
    : options_(options),
      devices_(devices),
      peak_(peak),
      flops_per_sample_(flops_per_iteration(options.model, 1)),
      tokens_per_sample_(options.model.seq_length),
      resumed_(start.state.iteration > 0),
      stats_(start.interval) {
  record_.train_iters = train_iters;
  if (!speaks) return;
  const TrainConfig& t = options.train;
  if (!t.tensorboard_dir.empty()) tensorboard_ = std::make_unique<TensorBoardWriter>(t.tensorboard_dir);
  if (!t.metrics_file.empty()) metrics_ = std::make_unique<MetricsFile>(t.metrics_file, start.state.iteration);
  if (t.progress) progress_ = std::make_unique<Progress>(start.state.iteration, train_iters);
}

bool RunLog::step(const RunState& state, const StepResult& result, double next_lr) {
  const NamedValue loss{"lm loss", result.loss};
  stats_.add(std::span(&loss, 1), !result.counted);
  record_.iteration = state.iteration;
  record_.consumed_samples = state.consumed_samples, record_.skipped_samples = state.skipped_samples;
  record_.learning_rate = next_lr;
  record_.global_batch_size = result.samples;
  record_.losses = {loss};
  record_.grad_norm = result.grad_norm;
  record_.params_norm = result.params_norm;
  record_.num_zeros = result.num_zeros;
  interval_samples_ += result.samples, interval_data_wait_ += result.data_wait, ++timed_iterations_;
  curve_.push_back({double(state.iteration), result.loss});
  const TrainConfig& t = options_.train;
  if (tensorboard_ && state.iteration % t.tensorboard_log_interval == 0) write_iteration(*tensorboard_, record_, {});
  if (progress_) progress_->update(state.iteration, result.loss, result.samples * tokens_per_sample_);
  const bool ends_interval = state.iteration % t.log_interval == 0 || (first_ && !resumed_);
  if (ends_interval)
    interval_line(result.finished);
  else if (first_)
    first_line(result.finished);
  first_ = false;
  return ends_interval;
}

std::string RunLog::console_line(const Interval& interval, const Speed& speed) const {
  return iteration_line(std::chrono::system_clock::now(), record_, interval,
                        options_.train.log_throughput ? std::optional(speed) : std::nullopt);
}

Speed RunLog::speed(double seconds) const {
  const double flops = flops_per_sample_ * double(interval_samples_);
  Speed s{.tokens_per_second = double(interval_samples_ * tokens_per_sample_) / seconds,
          .devices = devices_,
          .tflops = tflops_per_device(flops, seconds, devices_),
          .data_wait = interval_data_wait_ / double(timed_iterations_)};
  if (peak_) s.mfu = *s.tflops * 1e12 / *peak_;
  return s;
}

// The first step after a resume is shown like any run's first, but the interval goes on, so that the next line says
// what it would have said without the interruption.
void RunLog::first_line(double finished) {
  const double seconds = watch_.look(finished);
  Interval interval = stats_.look(seconds);
  interval.seconds_per_iteration = seconds;
  log::say("{}", console_line(interval, speed(seconds)));
}

void RunLog::interval_line(double finished) {
  const double seconds = watch_.take(finished);
  Interval interval = stats_.take(seconds);
  interval.seconds_per_iteration = seconds / double(timed_iterations_);
  const Speed fast = speed(seconds);
  log::say("{}", console_line(interval, fast));
  if (metrics_) metrics_->write(record_.iteration, iteration_metrics(record_, interval, fast));
  if (tensorboard_) {
    write_interval(*tensorboard_, record_.iteration, interval, fast.tflops);
    tensorboard_->flush();
  }
  interval_samples_ = 0, timed_iterations_ = 0, interval_data_wait_ = 0;
}

void RunLog::validation(const std::string& where, const RunState& state, double loss, bool record,
                        const std::string& set) {
  const NamedValue value{"lm loss", loss};
  log::say("{}", validation_lines(where, std::span(&value, 1), set));
  if (!record) return;
  if (set.empty()) validation_curve_.push_back({double(state.iteration), loss});
  if (tensorboard_) write_validation(*tensorboard_, record_, std::span(&value, 1), {.validation_set = set});
  const Metric metric{"validation_loss" + set, loss};
  if (metrics_) metrics_->write(state.iteration, std::span(&metric, 1));
}

void RunLog::finish() {
  progress_.reset();
  if (tensorboard_) tensorboard_->flush();
  if (curve_.size() < 2 || !options_.train.progress) return;
  log::say("{}", loss_chart("training loss", curve_));
  if (validation_curve_.size() > 1) log::say("{}", loss_chart("validation loss", validation_curve_));
}

}  // namespace megalith
