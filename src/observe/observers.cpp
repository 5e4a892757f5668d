#include "observe/observers.h"

#include <cstdlib>

#include "base/append_file.h"
#include "base/clock.h"
#include "base/log.h"
#include "observe/sinks/chart.h"
#include "observe/sinks/console.h"
#include "observe/sinks/launch_progress.h"
#include "observe/sinks/metrics_file.h"
#include "observe/sinks/progress.h"
#include "observe/sinks/prometheus.h"
#include "observe/sinks/ranks_file.h"
#include "observe/sinks/tensorboard.h"
#include "observe/sinks/tokens_per_expert.h"
#include "observe/sinks/wandb.h"

namespace megalith {

namespace {

std::unique_ptr<Sink> make_tensorboard(const Options& o, i64 iteration, const std::shared_ptr<ToldAt>& clock) {
  const TrainConfig& t = o.train;
  TensorBoardOrigin origin = this_process();
  origin.now = [clock] { return clock->unix; };
  auto sink = std::make_unique<TensorBoard>(t.tensorboard_dir, t.tensorboard_log_interval, origin, curve_flags_of(t));
  sink->write_arguments(o, iteration);
  return sink;
}

std::unique_ptr<Sink> make_wandb(const Options& o, i64 iteration, const std::shared_ptr<ToldAt>& clock) {
  const WandbAsked asked = wandb_asked(o, [](const char* name) -> const char* { return std::getenv(name); });
  return asked.is_on() ? std::make_unique<Wandb>(o, asked, iteration, [clock] { return clock->unix; }) : nullptr;
}

// The files of a run. `lacks`: the run may do without a file that cannot be opened, and warns. The order matters: the
// first file that cannot be opened is the one reported.
class Files {
 public:
  void add(bool lacks, const std::function<std::unique_ptr<Sink>()>& open) {
    try {
      if (auto sink = open()) all.push_back(std::move(sink));
    } catch (const UnwritablePlace& e) {
      if (!lacks) throw;
      log::warn("{}; the run continues without it", e.what());
    }
  }
  std::vector<std::unique_ptr<Sink>> all{};
};

// A run from the beginning refuses to start, so that its user sees it at once. A resumed run must train. So must any
// run without a place for W&B, as with W&B's own client.
std::vector<std::unique_ptr<Sink>> make_files(const Options& o, i64 iteration, const std::shared_ptr<ToldAt>& clock) {
  const TrainConfig& t = o.train;
  const bool resumes = iteration > 0;
  Files files;
  if (!t.tensorboard_dir.empty()) files.add(resumes, [&] { return make_tensorboard(o, iteration, clock); });
  files.add(true, [&] { return make_wandb(o, iteration, clock); });
  if (!t.metrics_file.empty())
    files.add(resumes, [&] { return std::make_unique<MetricsFile>(t.metrics_file, iteration); });
  if (t.save_tokens_per_expert_interval > 0 && o.model.moe.num_experts > 0)
    files.add(resumes, [&] {
      return std::make_unique<TokensPerExpert>(t.save, iteration, t.save_tokens_per_expert_interval, o.model);
    });
  if (!t.save.empty() && !t.skip_train)
    files.add(resumes, [&] { return std::make_unique<RanksFile>(t.save, iteration, [clock] { return clock->unix; }); });
  return std::move(files.all);
}

}  // namespace

// The progress line is first: it must end before curves are printed, and log lines go above its latest state.
Observers::Observers(const Options& o, i64 iteration, i64 train_iters, bool writes, Endpoint* endpoint,
                     std::optional<Fp8Scales> scales) {
  const TrainConfig& t = o.train;
  auto clock = std::make_shared<ToldAt>();
  std::vector<std::unique_ptr<Sink>> files;
  if (writes) files = make_files(o, iteration, clock);
  if (writes && t.progress) sinks_.push_back(std::make_unique<Progress>(iteration, train_iters));
  sinks_.push_back(std::make_unique<Console>(t));
  if (t.progress) sinks_.push_back(std::make_unique<Chart>());
  if (const LaunchLine line([](const char* name) -> const char* { return std::getenv(name); }); line.is_there())
    sinks_.push_back(std::make_unique<LaunchProgress>(line));
  if (!files.empty()) threads_.push_back(std::make_unique<SinkThread>("files of metrics", std::move(files), clock));
  if (!endpoint) return;
  auto told = std::make_shared<ToldAt>();
  auto sink = std::make_unique<PrometheusSink>(
      *endpoint, o, iteration, [told] { return told->steady; }, [told] { return told->unix; });
  if (scales) sink->follow(std::move(*scales));
  std::vector<std::unique_ptr<Sink>> series;
  series.push_back(std::move(sink));
  threads_.push_back(std::make_unique<SinkThread>("the Prometheus endpoint", std::move(series), told));
}

void Observers::counted(const std::function<void()>& f) const {
  const double began = steady_seconds();
  f();
  seconds_ += steady_seconds() - began;
}

// Each thread gets its own copy of the callable and what it captured.
void Observers::each(const SinkThread::Tell& tell) const {
  counted([&] {
    for (const auto& sink : sinks_) tell(*sink);
    for (const auto& thread : threads_) thread->post(tell);
  });
}

void Observers::take(const Record& record) const {
  counted([&] {
    for (const auto& sink : sinks_) sink->take(record);
    if (threads_.empty()) return;
    const auto copy = std::make_shared<const Record>(record);
    for (const auto& thread : threads_) thread->post([copy](Sink& sink) { sink.take(*copy); }, record.ends_interval);
  });
}
void Observers::take_evaluation(const Evaluated& evaluated) const {
  each([evaluated](Sink& sink) { sink.take_evaluation(evaluated); });
}
void Observers::take_save(const EndedSave& save) const {
  each([save](Sink& sink) { sink.take_save(save); });
}
void Observers::take_ranks(std::span<const PlaceOfRank> ranks) const {
  each([copy = std::vector(ranks.begin(), ranks.end())](Sink& sink) { sink.take_ranks(copy); });
}
void Observers::take_own_work(std::span<const OwnWork> ranks) const {
  each([copy = std::vector(ranks.begin(), ranks.end())](Sink& sink) { sink.take_own_work(copy); });
}
void Observers::take_rank_losses(std::span<const LossDeviation> ranks) const {
  each([copy = std::vector(ranks.begin(), ranks.end())](Sink& sink) { sink.take_rank_losses(copy); });
}
void Observers::take_times(std::span<const NamedValue> seconds, i64 iteration) const {
  each([copy = std::vector(seconds.begin(), seconds.end()), iteration](Sink& sink) {
    sink.take_times(copy, iteration);
  });
}
void Observers::take_memory(const MemoryTold& memory) const {
  each([memory](Sink& sink) { sink.take_memory(memory); });
}
void Observers::take_memory_use(std::span<const MemoryUse> ranks) const {
  each([copy = std::vector(ranks.begin(), ranks.end())](Sink& sink) { sink.take_memory_use(copy); });
}
void Observers::leave(Away where) const {
  each([where](Sink& sink) { sink.leave(where); });
}
void Observers::come_back() const {
  each([](Sink& sink) { sink.come_back(); });
}
void Observers::flush() const {
  counted([&] {
    for (const auto& thread : threads_) thread->flush();
  });
}

// The curves are last.
void Observers::finish() const {
  counted([&] {
    for (const auto& thread : threads_) thread->finish();
    for (const auto& sink : sinks_) sink->finish();
  });
}

double Observers::seconds_beside() const {
  double seconds = 0;
  for (const auto& thread : threads_) seconds += thread->seconds();
  return seconds;
}

}  // namespace megalith
