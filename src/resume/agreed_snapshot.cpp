#include "resume/agreed_snapshot.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/one_line.h"
#include "ckpt/formats.h"
#include "comm/member.h"
#include "resume/snapshot_tensors.h"
#include "resume/snapshots.h"

namespace megalith {

namespace {

using nlohmann::json;

// A slot as one rank of its node finds it.
struct FoundSnapshot {
  size_t slot = 0;
  i64 iteration = -1;
  SnapshotMark mark{};
  std::string problem{};
};

struct RankFinds {
  std::string node;
  std::vector<FoundSnapshot> slots;
};

// No two memory files of a host have one number at a time.
std::string node_key(const SnapshotFds& lent) {
  struct stat s {};
  if (lent.fds.empty() || fstat(lent.fds[0], &s) != 0) return {};
  return fmt::format("{} {} {}", Member::self(0).host, u64(s.st_dev), u64(s.st_ino));
}

// Of the node's slots a share: the others of the node look at the rest.
std::vector<FoundSnapshot> look_at_share(const SnapshotFds& lent, const Place& place) {
  std::vector<FoundSnapshot> found;
  for (size_t i = 0; i < lent.fds.size(); ++i) {
    if (int(i / kSnapshotSlots) % place.local_size != place.local_rank) continue;
    FoundSnapshot f{.slot = i};
    try {
      const auto s = read_snapshot(lent.fds[i]);
      if (!s) continue;
      f.iteration = s->account.manifest.iteration, f.mark = snapshot_mark(s->account.manifest);
    } catch (const std::exception& e) {
      f.problem = one_line(e);
    }
    found.push_back(std::move(f));
  }
  return found;
}

std::string text_of(const RankFinds& finds) {
  json list = json::array();
  for (const FoundSnapshot& f : finds.slots)
    list.push_back(
        {f.slot, f.iteration, f.mark.start, f.mark.rank, f.mark.world, f.mark.is_whole, f.mark.layout, f.problem});
  return json{{"node", finds.node}, {"slots", list}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

RankFinds finds_from(const std::string& text) {
  const json j = json::parse(text);
  RankFinds finds{.node = j["node"], .slots = {}};
  for (const json& f : j["slots"]) finds.slots.push_back({f[0], f[1], {f[2], f[3], f[4], f[5], f[6]}, f[7]});
  return finds;
}

// All snapshots of one moment: by the rank that made them, whose node they are on.
struct Moment {
  SnapshotMark mark;
  std::map<int, std::pair<std::string, size_t>> by_rank;

  bool is_complete() const { return int(by_rank.size()) == mark.world; }
  bool is_on(const std::string& node) const {
    return std::ranges::all_of(by_rank, [&](const auto& made) { return made.second.first == node; });
  }
};

// The slots that this rank reads; none if some rank could not go on from this moment. The same answer on all ranks.
std::vector<size_t> slots_to_read(const Moment& m, const std::vector<RankFinds>& all, int rank,
                                  const std::string& layout) {
  if (!m.is_complete()) return {};
  std::vector<size_t> slots;
  if (m.mark.is_whole && m.mark.world == int(all.size()) && m.mark.layout == layout) {
    const auto is_near = [&](int r) { return m.by_rank.at(r).first == all[size_t(r)].node; };
    bool all_near = true;
    for (int r = 0; r < m.mark.world; ++r) all_near = all_near && m.by_rank.contains(r) && is_near(r);
    if (all_near) return {m.by_rank.at(rank).second};
  }
  if (std::ranges::all_of(all, [&](const RankFinds& f) { return m.is_on(f.node); }))
    for (const auto& [_, made] : m.by_rank) slots.push_back(made.second);
  return slots;
}

AnyCheckpoint opened_snapshots(const SnapshotFds& lent, const std::vector<size_t>& slots) {
  std::vector<Snapshot> snapshots;
  for (const size_t slot : slots) {
    auto s = read_snapshot(lent.fds[slot], false);  // compared by one of the node's ranks
    check(s.has_value(), "a snapshot in memory has gone while it was read: start the run again");
    snapshots.push_back(std::move(*s));
  }
  AnyCheckpoint c{
      .format = CkptFormat::native, .path = "a snapshot in memory", .manifest = snapshots.front().account.manifest};
  read_origin(c.manifest.state_json, c);
  c.tensors = read_snapshots(std::move(snapshots));
  return c;
}

}  // namespace

std::optional<AnyCheckpoint> agreed_snapshot(const Options& options, Ranks& ranks, i64 after) {
  const SnapshotFds lent = SnapshotFds::from([](const char* name) -> const char* { return std::getenv(name); });
  if (lent.steps == 0) return {};
  std::vector<RankFinds> all;
  for (const std::string& text : ranks.all_gather(text_of({node_key(lent), look_at_share(lent, ranks.place())})))
    all.push_back(finds_from(text));
  std::map<std::pair<i64, std::string>, Moment> moments;
  std::string problem;
  for (const RankFinds& finds : all)
    for (const FoundSnapshot& f : finds.slots) {
      if (problem.empty()) problem = f.problem;
      if (!f.problem.empty() || f.iteration <= after) continue;
      Moment& m = moments[{f.iteration, f.mark.start}];
      m.mark = f.mark;
      m.by_rank[f.mark.rank] = {finds.node, f.slot};
    }
  if (!problem.empty()) log::warn("[load] a snapshot is passed over: {}", problem);
  for (auto m = moments.rbegin(); m != moments.rend(); ++m) {
    const std::vector<size_t> slots = slots_to_read(m->second, all, ranks.rank(), layout_key(options));
    if (!slots.empty()) return opened_snapshots(lent, slots);
  }
  if (!moments.empty() || !problem.empty())
    log::warn("[load] no snapshot in the agents' memory is whole on all ranks: going on from the disk");
  return {};
}

}  // namespace megalith
