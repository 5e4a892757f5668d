#include "observe/observers.h"

#include <cstdlib>

#include "base/clock.h"
#include "observe/sinks/chart.h"
#include "observe/sinks/console.h"
#include "observe/sinks/launch_progress.h"
#include "observe/sinks/metrics_file.h"
#include "observe/sinks/progress.h"
#include "observe/sinks/prometheus.h"
#include "observe/sinks/tensorboard.h"
#include "observe/sinks/tokens_per_expert.h"
#include "observe/sinks/wandb.h"

namespace megalith {

static std::unique_ptr<Sink> make_tensorboard(const Options& o, i64 iteration) {
  const TrainConfig& t = o.train;
  auto sink =
      std::make_unique<TensorBoard>(t.tensorboard_dir, t.tensorboard_log_interval, this_process(), curve_flags_of(t));
  sink->write_arguments(o, iteration);
  return sink;
}

static std::unique_ptr<Sink> make_wandb(const Options& o, i64 iteration) {
  const WandbAsked asked = wandb_asked(o, [](const char* name) -> const char* { return std::getenv(name); });
  return asked.is_on() ? std::make_unique<Wandb>(o, asked, iteration) : nullptr;
}

// The progress line first: it ends before the curves are said, and log lines are put above its latest state.
Observers::Observers(const Options& o, i64 iteration, i64 train_iters, bool writes, Endpoint* endpoint) {
  const TrainConfig& t = o.train;
  std::unique_ptr<Sink> tensorboard, metrics, tokens, wandb;
  if (writes && !t.tensorboard_dir.empty()) tensorboard = make_tensorboard(o, iteration);
  if (writes) wandb = make_wandb(o, iteration);
  if (writes && !t.metrics_file.empty()) metrics = std::make_unique<MetricsFile>(t.metrics_file, iteration);
  if (writes && t.save_tokens_per_expert_interval > 0 && o.model.moe.num_experts > 0)
    tokens = std::make_unique<TokensPerExpert>(t.save, iteration, t.save_tokens_per_expert_interval, o.model);
  if (writes && t.progress) sinks_.push_back(std::make_unique<Progress>(iteration, train_iters));
  sinks_.push_back(std::make_unique<Console>(t));
  if (metrics) sinks_.push_back(std::move(metrics));
  if (tensorboard) sinks_.push_back(std::move(tensorboard));
  if (wandb) sinks_.push_back(std::move(wandb));
  if (tokens) sinks_.push_back(std::move(tokens));
  if (endpoint) sinks_.push_back(std::make_unique<PrometheusSink>(*endpoint, o, iteration));
  if (t.progress) sinks_.push_back(std::make_unique<Chart>());
  if (const LaunchLine line([](const char* name) -> const char* { return std::getenv(name); }); line.is_there())
    sinks_.push_back(std::make_unique<LaunchProgress>(line));
}

void Observers::each(const std::function<void(Sink&)>& f) const {
  const double began = steady_seconds();
  for (const auto& sink : sinks_) f(*sink);
  seconds_ += steady_seconds() - began;
}

void Observers::take(const Record& record) const {
  each([&](Sink& sink) { sink.take(record); });
}
void Observers::take_evaluation(const Evaluated& evaluated) const {
  each([&](Sink& sink) { sink.take_evaluation(evaluated); });
}
void Observers::take_save(const EndedSave& save) const {
  each([&](Sink& sink) { sink.take_save(save); });
}
void Observers::take_own_work(std::span<const OwnWork> ranks) const {
  each([&](Sink& sink) { sink.take_own_work(ranks); });
}
void Observers::take_times(std::span<const NamedValue> seconds, i64 iteration) const {
  each([&](Sink& sink) { sink.take_times(seconds, iteration); });
}
void Observers::leave(Away where) const {
  each([&](Sink& sink) { sink.leave(where); });
}
void Observers::come_back() const {
  each([](Sink& sink) { sink.come_back(); });
}
void Observers::finish() const {
  each([](Sink& sink) { sink.finish(); });
}

}  // namespace megalith
