#include "train/run_log.h"

#include "base/log.h"
#include "train/flops.h"

namespace megalith {

RunLog::RunLog(const Options& options, const RunState& start, i64 train_iters)
    : options_(options),
      flops_per_sample_(flops_per_iteration(options.model, 1)),
      tokens_per_sample_(options.model.seq_length) {
  record_.train_iters = train_iters;
  const TrainConfig& t = options.train;
  if (!t.tensorboard_dir.empty()) tensorboard_ = std::make_unique<TensorBoardWriter>(t.tensorboard_dir);
  if (!t.metrics_file.empty()) metrics_ = std::make_unique<MetricsFile>(t.metrics_file, start.iteration);
  if (t.progress) progress_ = std::make_unique<Progress>(start.iteration, train_iters);
  watch_.start();
}

void RunLog::step(const RunState& state, const StepResult& result, double next_lr, i64 samples) {
  const NamedValue loss{"lm loss", result.loss};
  stats_.add(std::span(&loss, 1), !result.counted);
  record_.iteration = state.iteration;
  record_.consumed_samples = state.consumed_samples;
  record_.learning_rate = next_lr;
  record_.global_batch_size = samples;
  record_.losses = {loss};
  record_.grad_norm = result.grad_norm;
  interval_samples_ += samples;
  curve_.push_back({double(state.iteration), result.loss});
  const TrainConfig& t = options_.train;
  if (tensorboard_ && state.iteration % t.tensorboard_log_interval == 0) write_iteration(*tensorboard_, record_, {});
  if (progress_) progress_->update(state.iteration, result.loss, samples * tokens_per_sample_);
  if (first_ || state.iteration % t.log_interval == 0) interval_line();
  first_ = false;
}

void RunLog::interval_line() {
  const double seconds = watch_.take();
  const Interval interval = stats_.take(seconds);
  const double tflops = tflops_per_device(flops_per_sample_ * double(interval_samples_), seconds, 1);
  const double tokens = double(interval_samples_ * tokens_per_sample_);
  log::say("{}", iteration_line(std::chrono::system_clock::now(), record_, interval,
                                options_.train.log_throughput ? std::optional(tflops) : std::nullopt));
  if (metrics_) metrics_->write(record_.iteration, iteration_metrics(record_, interval, {tokens / seconds, tflops}));
  if (tensorboard_) {
    write_interval(*tensorboard_, record_.iteration, interval, tflops);
    tensorboard_->flush();
  }
  interval_samples_ = 0;
}

void RunLog::validation(const std::string& where, const RunState& state, double loss, bool record) {
  const NamedValue value{"lm loss", loss};
  log::say("{}", validation_lines(where, std::span(&value, 1)));
  if (!record) return;
  validation_curve_.push_back({double(state.iteration), loss});
  if (tensorboard_) write_validation(*tensorboard_, record_, std::span(&value, 1), {});
  const Metric metric{"validation_loss", loss};
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
