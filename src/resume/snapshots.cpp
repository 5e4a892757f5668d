#include "resume/snapshots.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/json_field.h"
#include "base/log.h"
#include "base/one_line.h"
#include "base/process_memory.h"
#include "comm/together.h"
#include "config/file.h"
#include "resume/copies.h"
#include "resume/snapshot_slot.h"

namespace megalith {

namespace {

using nlohmann::json;

constexpr const char* kSnapshotKey = "snapshot";  // in its training state

void mark_snapshot(Manifest& manifest, const SnapshotMark& mark) {
  json state = json::parse(manifest.state_json);
  state[kSnapshotKey] = {{"start", mark.start},
                         {"rank", mark.rank},
                         {"world", mark.world},
                         {"whole", mark.is_whole},
                         {"layout", mark.layout}};
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
          field_as<bool>(j, "whole"), field_as<std::string>(j, "layout")};
}

Snapshots::Snapshots(const Options& options, const ModelState& model, Ranks& ranks, std::optional<i64> begun)
    : o_(options),
      model_(model),
      ranks_(ranks),
      lent_(SnapshotFds::from([](const char* name) -> const char* { return std::getenv(name); })) {
  if (lent_.steps == 0) return;
  const Place& place = ranks.place();
  // One node's ranks can read each other's slots; over nodes each needs all that it holds.
  share_ = {.with_optimizer = true, .shared = true, .whole = place.local_size < place.size};
  start_ = name_of_start(ranks);
  together(ranks, [&] {
    check(i64(lent_.fds.size()) == i64{kSnapshotSlots} * place.local_size,
          "--snapshot-steps: the agent lends {} memory files to {} ranks: start the run by `megalith launch`",
          lent_.fds.size(), place.local_size);
    const i64 bytes = StateBlocks(model_, share_, false).written();
    const i64 needed = kSnapshotSlots * bytes, there = available_host_bytes() / place.local_size;
    check(begun || needed <= there,
          "--snapshot-steps: two snapshots of a rank take {} MiB, the host has {} MiB for each: leave the flag out",
          needed >> 20, there >> 20);
    for (int i = 0; begun && i < kSnapshotSlots; ++i)
      if (const auto s = read_snapshot(own_slot(i), false); s && s->account.manifest.iteration == *begun) next_ = 1 - i;
    if (!model_.on_host()) model_.interpreter().host_memory(StateBlocks(model_, share_, false).bytes());
  });
}

Snapshots::~Snapshots() {
  if (work_.valid()) work_.wait();
}

int Snapshots::own_slot(int i) const { return lent_.fds[size_t(kSnapshotSlots * ranks_.place().local_rank + i)]; }

void Snapshots::finish() {
  if (!work_.valid()) return;
  try {
    work_.get();
  } catch (const std::exception& e) {
    error_ = one_line(e);
  }
  blocks_.reset();
}

void Snapshots::take(const RunProgress& progress, const Schedules& schedules) {
  finish();
  std::string what;
  const std::vector<std::string> errors = ranks_.all_gather(error_);
  for (size_t r = 0; r < errors.size() && what.empty(); ++r)
    if (!errors[r].empty()) what = fmt::format("rank {}: {}", r, errors[r]);
  if (!what.empty())
    log::warn("a snapshot in memory was not made ({}); the one before stays", what);
  else if (has_written_)
    next_ = 1 - next_;
  error_.clear();
  has_written_ = true;
  Manifest manifest = manifest_of(o_, progress, schedules);
  const Place& place = ranks_.place();
  mark_snapshot(manifest, {start_, place.rank, place.size, share_.whole, layout_key(o_)});
  try {
    blocks_.emplace(model_, share_, !model_.on_host());
    const auto how = model_.on_host() ? std::launch::deferred : std::launch::async;
    work_ = std::async(how, [this, manifest = std::move(manifest), fd = own_slot(next_)] {
      blocks_->wait();
      write_snapshot(fd, manifest, blocks_->tensors());
    });
  } catch (const std::exception& e) {
    error_ = one_line(e);
  }
  if (model_.on_host()) finish();
}

}  // namespace megalith
