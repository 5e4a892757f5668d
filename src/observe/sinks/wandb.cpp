#include "observe/sinks/wandb.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/log.h"
#include "config/file.h"
#include "observe/sinks/console.h"
#include "observe/sinks/wandb_dir.h"

namespace megalith {

namespace {

void set(WandbItems& items, const std::string& name, std::string value) {
  const auto there = std::ranges::find(items, name, &WandbItems::value_type::first);
  if (there == items.end())
    items.emplace_back(name, std::move(value));
  else
    there->second = std::move(value);
}

WandbItems config_items(Options o) {
  WandbItems items;
  const auto object = nlohmann::ordered_json::parse(config::to_json(config::fields_of(o)));
  for (const auto& [key, value] : object.items()) items.emplace_back(key, value.dump());
  return items;
}

}  // namespace

Wandb::Wandb(const Options& o, const WandbAsked& asked, i64 iteration, std::function<double()> now)
    : asked_(asked),
      now_(std::move(now)),
      flags_(curve_flags_of(o.train)),
      every_(o.train.tensorboard_log_interval),
      started_(now_()) {
  const WandbPlace place = make_wandb_place(asked_.dir, asked_.id, started_);
  file_ = std::make_unique<WandbFile>(place.file);
  WandbRun run{.id = place.id,
               .entity = asked_.entity,
               .project = asked_.project,
               .group = asked_.group,
               .name = asked_.name,
               .host = this_process().hostname,
               .tags = asked_.tags,
               .config = config_items(o)};
  run.starting_step = iteration, run.started = started_;
  write_wandb_config(place, run.config);
  file_->run(run);
  if (asked_.mode != "online") log::say("> W&B: offline run in {}: `wandb sync` with it sends it", place.dir.string());
}

void Wandb::put(const std::string& name, double value) {
  set(row_, name, wandb_json(value));
  set(summary_, name, wandb_json(value));
}

void Wandb::take(const Record& r) {
  if (r.iteration % every_ != 0 && !r.ends_interval) return;
  write_row();
  step_ = r.iteration;
  for (const MetricValue* v : in_order(r, first_in_tensorboard())) {
    const InTensorBoard& form = v->metric->tensorboard;
    const bool of_interval = form.curve == Curve::of_interval;
    if (form.name.empty() || (of_interval && !r.ends_interval)) continue;
    put(shown_name(form.name, *v), of_interval ? v->interval : v->now);
  }
  put("samples vs steps", double(r.consumed_samples));
  if (r.ends_interval) write_summary();
}

void Wandb::take_evaluation(const Evaluated& e) {
  if (!e.record) return;
  step_ = std::max(step_, e.iteration);
  for (const NamedValue& loss : e.losses) {
    put(loss.name + " validation" + e.set, loss.value);
    if (flags_.perplexity) put(loss.name + " validation" + e.set + " ppl", perplexity(loss.value));
  }
}

void Wandb::take_times(std::span<const NamedValue> seconds, i64) {
  for (const NamedValue& v : seconds)
    if (flags_.timers && v.value > 0 && step_ >= 0) put(timer_of(v), v.value);
}

void Wandb::leave(Away where) { away_ = where, left_ = now_(); }

void Wandb::come_back() {
  if (away_ && flags_.timers && step_ >= 0) put(timer_of(*away_), now_() - left_);
  away_.reset();
}

void Wandb::write_row() {
  if (row_.empty()) return;
  const double now = now_();
  row_.emplace_back("_step", std::to_string(step_));
  row_.emplace_back("_timestamp", wandb_json(now));
  row_.emplace_back("_runtime", wandb_json(now - started_));
  file_->history(step_, row_);
  row_.clear();
}

void Wandb::write_summary() {
  WandbItems all = summary_;
  all.emplace_back("_step", std::to_string(step_));
  all.emplace_back("_timestamp", wandb_json(now_()));
  all.emplace_back("_runtime", wandb_json(now_() - started_));
  file_->summary(all);
}

void Wandb::end(int code) {
  if (!file_ || std::exchange(has_ended_, true)) return;
  write_row();
  write_summary();
  file_->exit(code, i64(now_() - started_));
}

void Wandb::finish() {
  end(0);
  if (asked_.mode == "online") start_wandb_sync(file_->path().parent_path());
}

}  // namespace megalith
