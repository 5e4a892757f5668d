// The saves of a run, and how the run stops: when, and with which exit code.
#include "base/canonical_path.h"
#include "base/log.h"
#include "comm/on_all_ranks.h"
#include "train/training_run.h"

namespace megalith {

std::vector<DatasetUse> TrainingRun::data_read() const {
  return datasets_.train ? data_use(o_.data, *datasets_.train, state_.consumed_samples) : std::vector<DatasetUse>();
}

bool TrainingRun::is_saved_start() const {
  return start_.resumes() && !start_.is_non_persistent() && canonical_path(t_.load) == canonical_path(t_.save);
}

void TrainingRun::check_places() {
  on_all_ranks(ranks_, [&] { places_.check_not_taken_over(); });
}

RunProgress TrainingRun::progress(const std::vector<DatasetUse>& data) const {
  return {state_, recorder_.interval(), data, start_.progress().hf_config};
}

// The ledger counts this time apart: it is lost if a later start resumes from this checkpoint.
void TrainingRun::save_apart(const std::function<void()>& f) {
  const TimeState before = ledger_.enter(TimeState::save_stall);
  f();
  ledger_.enter(before);
  ledger_.write(state_.iteration);
}

void TrainingRun::save() {
  if (t_.save.empty()) return;
  const auto began = std::chrono::steady_clock::now();
  pause(Away::saving);
  save_apart([&] {
    snapshots_.finish();
    check_places();
    const std::vector<DatasetUse> use = data_read();
    timed("save-checkpoint", [&] { saver_.save(progress(use), schedules_); });
    if (!use.empty()) log::say("{}", data_use_line(use, state_.consumed_samples));
  });
  save_interval_.saved(state_.iteration,
                       std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  resume();
  tell_saves();
}

void TrainingRun::save_non_persistent() {
  pause(Away::saving);
  save_apart([&] {
    snapshots_.finish();
    check_places();
    saver_.save_non_persistent(progress(data_read()), schedules_);
  });
  resume();
}

// A device has memory for one copy of the state, so a copy in progress ends first.
void TrainingRun::take_snapshot() {
  const TimeState before = ledger_.enter(TimeState::save_stall);
  if (!model_.on_host()) saver_.finish();
  snapshots_.take(progress(data_read()), schedules_);
  ledger_.enter(before);
}

void TrainingRun::save_last() {
  save_apart([&] { saver_.finish(); });
  tell_saves();
  if (is_saved()) return;
  save();
  save_apart([&] { saver_.finish(); });
  tell_saves();
}

void TrainingRun::tell_saves() {
  for (const EndedSave& save : saver_.take_ended()) observers_.take_save(save);
}

void TrainingRun::tell_ranks() {
  if (t_.save.empty() || t_.skip_train) return;
  const std::string bus = backend_.device_place();
  const std::vector<PlaceOfRank> places =
      gather_places(ranks_, {.rank = ranks_.rank(),
                             .host = name_of_host(),
                             .stage = step_.plan.mesh.place(coord_, groups::pipeline),
                             .bus = bus,
                             .gpu = gpu_number(bus).value_or(-1)});
  if (keeps_ranks()) observers_.take_ranks(places);
}

void TrainingRun::tell_memory() {
  MemoryTold told{.stage = step_.plan.mesh.place(coord_, groups::pipeline)};
  const auto tell = [&](const char* category, i64 bytes) { told.bytes.push_back({category, double(bytes)}); };
  tell("arena", need_.arena), tell("process", need_.process), tell("device_copies", need_.device_copies);
  tell("host_state", need_.host_state), tell("batches", need_.batches), tell("start", need_.start);
  tell("data", need_.data), tell("others", need_.others), tell("copies", need_.copies);
  tell("peak_forward", phases_.forward), tell("peak_backward", phases_.backward), tell("peak_update", phases_.update);
  tell("planned", need_.total()), tell("used_peak", backend_.peak_bytes());
  observers_.take_memory(told);
}

static bool is_multiple(i64 iteration, i64 interval) { return interval > 0 && iteration % interval == 0; }

bool TrainingRun::compares_weights_at(i64 iteration) const {
  return weight_check_ && is_multiple(iteration, t_.hash_interval());
}

bool TrainingRun::replays_at(i64 iteration) const {
  return t_.rerun_mode != RerunMode::disabled && is_multiple(iteration, t_.replay_interval);
}

// A state that is kept is one whose copies agree.
std::optional<int> TrainingRun::look_for_doubts(bool keeps_state) {
  const i64 i = state_.iteration;
  keeps_state = keeps_state || (i == last_ && !t_.save.empty());
  std::optional<int> code;
  if (weight_check_ && (keeps_state || compares_weights_at(i))) code = weight_check_->look(i);
  if (!code && replays_at(i)) code = replay_.look(state_, last_samples_);
  if (!code) return {};
  is_in_doubt_ = true;
  log::warn("iteration {}: nothing is saved; the ranks in doubt end with 16 or 17, and the others with 75", i);
  save_apart([&] { saver_.finish(); });
  return code;
}

bool TrainingRun::should_exit(const StopRequests& requests) const {
  if (!requests.to_leave() && !exits_at(state_.iteration)) return false;
  log::say("exiting program {}",
           requests.to_leave() ? requests.reason() : fmt::format("at iteration {}", state_.iteration));
  return true;
}

int TrainingRun::exit_code(const StopRequests& requests) const {
  const bool is_done = state_.iteration >= last_, is_lost = !t_.save.empty() && !is_saved();
  if (requests.signal() != 0 && !is_done) return requests.exit_code(is_saved());
  if (is_lost) log::warn("cannot save the state of iteration {}: exit code 1", state_.iteration);
  return is_lost ? 1 : 0;
}

}  // namespace megalith
