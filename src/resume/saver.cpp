#include "resume/saver.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "ckpt/native/shards.h"
#include "ckpt/torch/megatron_save.h"
#include "resume/non_persistent.h"
#include "settings/precision.h"

namespace megalith {

namespace {

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

bool is_due(i64 interval, i64 iteration) { return interval > 0 && iteration % interval == 0; }

}  // namespace

Saver::Saver(const Options& options, const ModelState& model, Ranks& ranks, const SavePlaces& places, i64 device_copies,
             i64 saved)
    : o_(options), t_(options.train), model_(model), ranks_(ranks), places_(places), saved_(saved) {
  if (t_.non_persistent_save_interval > 0) start_ = name_of_start(ranks);
  if (t_.save.empty() || !t_.async_save) return;
  const i64 bytes = StateBlocks(model_, largest_share(t_), false).bytes();
  model_.interpreter().host_memory(bytes);
  if (device_copies > 0) model_.interpreter().copy_on_device(std::min(bytes, device_copies));
}

bool Saver::saves_at(i64 iteration) const { return !t_.save.empty() && is_due(t_.save_interval, iteration); }
bool Saver::saves_non_persistent_at(i64 iteration) const {
  return !t_.save.empty() && is_due(t_.non_persistent_save_interval, iteration) && !saves_at(iteration);
}

void Saver::save(const RunProgress& progress, const Schedules& schedules) {
  SaveOptions options{.keep_last = t_.most_recent_k, .keep_multiples = t_.save_retain_interval};
  options.still_ours = still_ours(places_.save.get());
  start({t_.save, std::move(options), true, false}, progress, schedules);
}

void Saver::save_non_persistent(const RunProgress& progress, const Schedules& schedules) {
  const bool own = t_.non_persistent_ckpt_type == NonPersistentType::local;
  SaveOptions options{.keep_last = 1};
  options.may_remove = [this](const std::string& path) { return is_our_non_persistent(path, t_); };
  options.still_ours = still_ours(places_.non_persistent.get());
  start({non_persistent_directory(t_, ranks_.rank()), std::move(options), false, own}, progress, schedules);
}

void Saver::start(const Target& target, const RunProgress& progress, const Schedules& schedules) {
  finish();
  job_.reset(new Job{progress.state.iteration, target.persistent, target.dir, std::chrono::steady_clock::now()});
  job_->save = std::make_unique<BackgroundSave>(
      ranks_, SaveSteps(target.dir, job_->iteration, target.options), target.own,
      [&] { return prepare(target, progress, schedules); }, [&blocks = job_->blocks] { blocks->wait(); });
  if (!t_.async_save) return finish();
  if (job_->blocks)
    log::say(
        "  scheduled an async checkpoint save at iteration {:7d} to {}: {:.1f} MiB of this rank, training waited "
        "{:.3f} s",
        job_->iteration, target.dir, double(job_->blocks->bytes()) / (1 << 20), seconds_since(job_->began));
}

// Copies the state last: an earlier failure must not leave a copy running.
std::unique_ptr<PartWriter> Saver::prepare(const Target& target, const RunProgress& progress,
                                           const Schedules& schedules) {
  Manifest manifest = manifest_of(o_, progress, schedules);
  if (!target.persistent) mark_non_persistent(manifest, {start_, ranks_.rank()}, t_.save);
  job_->blocks.emplace(model_, StateShare{!t_.no_save_optim, t_.ckpt_fully_parallel_save, target.own}, t_.async_save);
  const std::vector<SaveTensor>& tensors = job_->blocks->tensors();
  SaveOptions options = target.options;
  options.writers = writers_of(t_, job_->blocks->bytes());
  options.hook = hook_;
  const int rank = target.own ? 0 : ranks_.rank();
  if (t_.ckpt_format != SaveFormat::torch_dist || !target.persistent)
    return std::make_unique<ShardWriter>(std::move(manifest), tensors, rank, options);
  const Precision precision = precision_of(o_);
  const DType params = t_.no_save_optim ? precision.main_parameters : precision.parameters;
  return megatron_writer({manifest, o_.model, params, !t_.no_save_optim}, tensors, rank, options);
}

void Saver::poll() {
  if (!job_) return;
  if (const auto outcome = job_->save->poll()) end(*outcome);
}

void Saver::finish() {
  if (job_) end(job_->save->wait());
}

void Saver::end(const BackgroundSave::Outcome& outcome) {
  const std::unique_ptr<Job> job = std::move(job_);
  const char* what = job->persistent ? "checkpoint" : "non-persistent checkpoint";
  const bool is_saved = outcome.error.empty();
  const double seconds = seconds_since(job->began);
  if (job->persistent) ended_.push_back({job->iteration, seconds, is_saved ? job->blocks->written() : 0, is_saved});
  if (!is_saved)
    return log::warn("{} at iteration {} was not saved, training continues: {}; earlier checkpoints are intact", what,
                     job->iteration, outcome.error);
  if (job->persistent) saved_ = job->iteration;
  const SaveLock* held = places_.non_persistent ? places_.non_persistent.get() : places_.save.get();
  remove_later_non_persistent(o_, ranks_.rank(), job->iteration, still_ours(held));
  log::say("  successfully saved {} from iteration {:7d} to {}", what, job->iteration, job->dir);
  const double mib = double(job->blocks->written()) / (1 << 20);
  log::say("  this rank wrote {:.1f} MiB of it in {:.3f} s, {:.0f} MiB/s", mib, seconds, mib / seconds);
}

}  // namespace megalith
