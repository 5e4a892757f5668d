#include "resume/snapshots.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/json_field.h"
#include "base/log.h"
#include "base/one_line.h"
#include "base/process_memory.h"
#include "comm/launch_line.h"
#include "comm/on_all_ranks.h"
#include "config/file.h"
#include "plan/host_memory_ahead.h"
#include "resume/non_persistent.h"
#include "resume/snapshot_slot.h"

namespace megalith {

namespace {

using nlohmann::json;

constexpr const char* kSnapshotKey = "snapshot";   // key in the training state
constexpr std::string_view kBusy = "...";          // from a rank that still writes its previous snapshot
constexpr std::string_view kPinning = "..";        // from a rank whose host memory is not pinned yet
constexpr std::string_view kNoCopy = "no copy: ";  // from a rank whose snapshot has no copy on another node

void mark_snapshot(Manifest& manifest, const SnapshotMark& mark) {
  json state = json::parse(manifest.state_json);
  state[kSnapshotKey] = {{"start", mark.start},    {"rank", mark.rank},         {"world", mark.world},
                         {"whole", mark.is_whole}, {"elements", mark.elements}, {"layout", mark.layout}};
  manifest.state_json = state.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string layout_key(const Options& options) {
  Options o = options;
  return config::to_json(config::fields_of(o.parallel));
}

SnapshotMark snapshot_mark(const Manifest& manifest) {
  const json state = json::parse(manifest.state_json), &j = field(state, kSnapshotKey);
  return {field_as<std::string>(j, "start"), int(field_as<i64>(j, "rank")), int(field_as<i64>(j, "world")),
          field_as<bool>(j, "whole"),        field_as<i64>(j, "elements"),  field_as<std::string>(j, "layout")};
}

// The threads copy memory, so more of them than the memory bandwidth needs do not help.
int snapshot_threads(const Place& place) {
  constexpr int kMost = 16;
  return std::clamp(int(std::thread::hardware_concurrency()) / std::max(place.local_size, 1), 1, kMost);
}

Snapshots::Snapshots(const Options& options, const ModelState& model, Ranks& ranks, std::optional<i64> begun)
    : o_(options),
      model_(model),
      ranks_(ranks),
      lent_(SnapshotFds::from([](const char* name) -> const char* { return std::getenv(name); })) {
  if (lent_.steps == 0) return;
  const Place& place = ranks.place();
  // Ranks of one node can read each other's slots, so they divide equal state. On several nodes each rank writes all
  // that it holds.
  share_ = {.with_optimizer = true, .shared = true, .whole = place.local_size < place.size};
  start_ = name_of_start(ranks);
  on_all_ranks(ranks, [&] {
    check(i64(lent_.fds.size()) >= i64{kSnapshotSlots} * place.local_size,
          "--snapshot-steps: the agent has {} memory files for {} ranks: start the run with `megalith launch`",
          lent_.fds.size(), place.local_size);
    check_room(begun.has_value());
    for (int i = 0; begun && i < kSnapshotSlots; ++i)
      if (const auto s = read_snapshot(own_slot(i)); s && s->account.manifest.iteration == *begun) next_ = 1 - i;
  });
  copies_.emplace(lent_, ranks, begun);
}

// Fails before the run starts if the host lacks memory.
void Snapshots::check_room(bool has_slots) const {
  const StateBlocks blocks(model_, share_, false);
  const i64 slots = kSnapshotSlots * blocks.written() * (1 + lent_.replicas),
            copy = model_.on_host() ? 0 : blocks.bytes();
  const i64 needed = (has_slots ? 0 : slots) + copy, there = available_host_bytes() / ranks_.place().local_size;
  check(needed <= there,
        "--snapshot-steps: the snapshots of a rank need {} MiB of host memory, but {} MiB are free for each rank: "
        "leave the flag out",
        needed >> 20, there >> 20);
  if (ranks_.rank() > 0) return;
  log::say("  a snapshot every {} iterations: {:.1f} MiB of host memory for the two slots of a rank{}{}", lent_.steps,
           double(slots) / (1 << 20),
           lent_.replicas == 0 ? "" : fmt::format(" and their copies on {} other nodes", lent_.replicas),
           copy == 0 ? "" : fmt::format(", {:.1f} MiB pinned for copies from the device", double(copy) / (1 << 20)));
}

static LaunchLine agent_line() {
  return LaunchLine([](const char* name) -> const char* { return std::getenv(name); });
}

void Snapshots::make_room() {
  if (settles_since_ && has_room(0)) say_settled();
  if (lent_.steps == 0 || std::exchange(has_asked_room_, true) || model_.on_host()) return;
  agent_line().settling();
  settles_since_ = steady_seconds();
  try {
    model_.interpreter().host_memory(StateBlocks(model_, share_, false).bytes());
  } catch (const std::exception& e) {
    error_ = one_line(e);
  }
}

bool Snapshots::has_room(double seconds) const {
  const auto* ahead = dynamic_cast<const HostMemoryAhead*>(&model_.interpreter());
  return !ahead || ahead->is_host_memory_ready(seconds);
}

void Snapshots::say_settled() {
  agent_line().settled();
  if (o_.train.log_level == LogLevel::debug)
    log::say("  the host memory for snapshots is pinned, {:.2f} s after the first step",
             steady_seconds() - *settles_since_);
  settles_since_.reset();
}

Snapshots::~Snapshots() {
  is_over_ = true;
  if (work_.valid()) work_.wait();
}

int Snapshots::own_slot(int i) const { return lent_.fds[size_t(kSnapshotSlots * ranks_.place().local_rank + i)]; }

// Slots of ranks that this start does not have are freed after two new snapshots: until then a restart may need them.
void Snapshots::free_idle(int made) const {
  if (made != kSnapshotSlots || ranks_.place().local_rank > 0) return;
  for (size_t i = size_t(kSnapshotSlots * ranks_.place().local_size); i < lent_.fds.size(); ++i)
    if (ftruncate(lent_.fds[i], 0) != 0) log::warn("a rank's old snapshot cannot be freed: {}", std::strerror(errno));
  free_old_copies();
}

// Each slot in use has a snapshot of this start by now, or none while one is written.
void Snapshots::free_old_copies() const {
  for (const int fd : lent_.copies) try {
      if (const auto s = read_snapshot(fd); !s || snapshot_mark(s->account.manifest).start == start_) continue;
      check(ftruncate(fd, 0) == 0, "{}", std::strerror(errno));
    } catch (const std::exception& e) {
      log::warn("an old copy of a snapshot cannot be freed: {}", one_line(e));
    }
}

void Snapshots::write(const Manifest& manifest, int fd, int turn_of_copies) {
  const double began = steady_seconds();
  blocks_->wait();
  const double copied = steady_seconds();
  const int threads = snapshot_threads(ranks_.place());
  write_snapshot(fd, manifest, blocks_->tensors(), threads);
  if (o_.train.log_level == LogLevel::debug)
    log::say("  the snapshot of iteration {} is in memory: {:.2f} s to copy it from the device, {:.2f} s to write it",
             manifest.iteration, copied - began, steady_seconds() - copied);
  try {
    copies_->write(fd, turn_of_copies);
  } catch (const std::exception& e) {
    error_ = std::string(kNoCopy) + one_line(e);
  }
  // Allocates the other slot now, because allocation during the pinning of host memory would slow both down. An error
  // is ignored here: the next write to the slot reports it.
  for (int i = 0; i < kSnapshotSlots && !model_.on_host(); ++i) try {
      make_slot_room(own_slot(i), blocks_->written(), threads, is_over_);
    } catch (const std::exception&) {
      continue;
    }
}

void Snapshots::finish() {
  if (!work_.valid()) return;
  try {
    work_.get();
  } catch (const std::exception& e) {
    error_ = one_line(e);
  }
  blocks_.reset();
}

// An empty text, or one of a missing copy: the snapshot itself is there.
static bool is_made(const std::string& error) { return error.empty() || error.starts_with(kNoCopy); }

void Snapshots::warn_of(const std::vector<std::string>& errors) {
  const auto failed = std::ranges::find_if_not(errors, is_made);
  if (failed != errors.end())
    return log::warn("a snapshot failed (rank {}: {}); the previous one stays", failed - errors.begin(), *failed);
  const auto lone = std::ranges::find_if(errors, [](const std::string& e) { return !e.empty(); });
  if (lone == errors.end() || std::exchange(has_warned_of_copies_, true)) return;
  log::warn("a snapshot of rank {} has no copy on another node ({}): it is lost with its node", lone - errors.begin(),
            lone->substr(kNoCopy.size()));
}

void Snapshots::take(const RunProgress& progress, const Schedules& schedules) {
  // Training does not wait: if the previous snapshot is still in progress, this one is skipped.
  const bool is_busy = work_.valid() && work_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
  if (!is_busy) finish();
  constexpr double kToPin = 0.2;  // seconds: enough to pin a small state after the first step
  const std::vector<std::string> errors = ranks_.all_gather(is_busy            ? std::string(kBusy)
                                                            : has_room(kToPin) ? error_
                                                                               : std::string(kPinning));
  for (const auto& [kind, why] : {std::pair(kBusy, "the previous one is not written yet"),
                                  std::pair(kPinning, "its host memory is not pinned yet")})
    if (std::ranges::find(errors, kind) != errors.end())
      return log::say("  no snapshot of iteration {}: {}", progress.state.iteration, why);
  warn_of(errors);
  if (has_written_ && std::ranges::all_of(errors, is_made)) next_ = 1 - next_, free_idle(++made_);
  if (has_written_ && std::ranges::all_of(errors, &std::string::empty)) ++copied_;
  error_.clear();
  has_written_ = true;
  Manifest manifest = manifest_of(o_, progress, schedules);
  const Place& place = ranks_.place();
  i64 elements = 0;
  for (const StateTensor& t : model_.tensors()) elements += model_.is_stage() ? 0 : count(t.shape);
  mark_snapshot(manifest, {start_, place.rank, place.size, share_.whole, elements, layout_key(o_)});
  try {
    blocks_.emplace(model_, share_, !model_.on_host());
    const auto how = model_.on_host() ? std::launch::deferred : std::launch::async;
    work_ = std::async(how, [this, manifest = std::move(manifest), fd = own_slot(next_), turn = copied_] {
      write(manifest, fd, turn);
    });
  } catch (const std::exception& e) {
    error_ = one_line(e);
  }
  if (model_.on_host()) finish();
}

}  // namespace megalith
