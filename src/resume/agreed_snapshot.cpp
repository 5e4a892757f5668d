#include "resume/agreed_snapshot.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/log.h"
#include "base/one_line.h"
#include "ckpt/formats.h"
#include "comm/member.h"
#include "resume/snapshot_tensors.h"
#include "resume/snapshots.h"

namespace megalith {

namespace {

using nlohmann::json;

// The content of a slot, as read by the rank that verifies it.
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

// Identifies the node: two open memory files of a host never have the same inode number.
std::string node_key(const SnapshotFds& lent) {
  struct stat s {};
  if (lent.fds.empty() || fstat(lent.fds[0], &s) != 0) return {};
  return fmt::format("{} {} {}", Member::self(0).host, u64(s.st_dev), u64(s.st_ino));
}

std::vector<FoundSnapshot> look_at_share(const SnapshotFds& lent, const Place& place) {
  std::vector<FoundSnapshot> found;
  for (size_t i = 0; i < lent.fds.size(); ++i) {
    if (!is_own_share(i, place)) continue;
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
    list.push_back({f.slot, f.iteration, f.mark.start, f.mark.rank, f.mark.world, f.mark.is_whole, f.mark.elements,
                    f.mark.layout, f.problem});
  return json{{"node", finds.node}, {"slots", list}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

RankFinds finds_from(const std::string& text) {
  const json j = json::parse(text);
  RankFinds finds{.node = j["node"], .slots = {}};
  for (const json& f : j["slots"]) finds.slots.push_back({f[0], f[1], {f[2], f[3], f[4], f[5], f[6], f[7]}, f[8]});
  return finds;
}

// All snapshots of one iteration and run, keyed by the rank that made them: its node and slot.
struct Moment {
  SnapshotMark mark;
  std::map<int, std::pair<std::string, size_t>> by_rank;

  bool is_complete() const { return int(by_rank.size()) == mark.world; }
  bool is_on(const std::string& node) const {
    return std::ranges::all_of(by_rank, [&](const auto& made) { return made.second.first == node; });
  }
};

// The slots that this rank reads. is_enough: they certainly hold all tensors that it needs.
struct Choice {
  std::vector<size_t> slots;
  bool is_enough = false;
};

Choice choose_slots(const Moment& m, const std::vector<RankFinds>& all, int rank, const std::string& layout) {
  const std::string& node = all[size_t(rank)].node;
  if (m.is_complete() && m.mark.is_whole && m.mark.world == int(all.size()) && m.mark.layout == layout) {
    bool all_near = true;
    for (const auto& [r, made] : m.by_rank) all_near = all_near && made.first == all[size_t(r)].node;
    if (all_near) return {{m.by_rank.at(rank).second}, true};
  }
  Choice c{.slots = {}, .is_enough = m.is_complete() && m.is_on(node)};
  for (const auto& [_, made] : m.by_rank)
    if (made.first == node) c.slots.push_back(made.second);
  return c;
}

// Number of state elements in these snapshots, each counted once: two blocks of one save are equal or disjoint.
i64 elements_in(const std::vector<Snapshot>& snapshots) {
  std::map<std::string, std::set<std::pair<Shape, Shape>>> seen;
  i64 elements = 0;
  for (const Snapshot& s : snapshots)
    for (const CheckpointTensor& t : s.account.tensors)
      for (const TensorBlock& b : t.blocks)
        if (seen[t.name].emplace(b.offset, b.shape).second) elements += count(b.shape);
  return elements;
}

struct Opened {
  std::vector<Snapshot> snapshots;
  std::string problem{};
  bool is_enough = false;  // to resume from
};

// Each rank verifies every byte of a share of its node's slots. Verified data is near the rank, so it reads this data
// fastest.
Opened open_moment(const SnapshotFds& lent, i64 iteration, const Moment& m, const std::vector<RankFinds>& all,
                   Ranks& ranks, const std::string& layout, ComparedSnapshots& compared) {
  Opened o;
  const std::string& node = all[size_t(ranks.rank())].node;
  try {
    std::map<size_t, Snapshot> near;
    for (const auto& [_, made] : m.by_rank) {
      if (made.first != node || !is_own_share(made.second, ranks.place())) continue;
      if (auto s = compared.take(made.second, iteration)) near.emplace(made.second, std::move(*s));
    }
    const Choice choice = choose_slots(m, all, ranks.rank(), layout);
    for (const size_t slot : choice.slots) {
      const auto known = near.find(slot);
      auto s = known != near.end() ? std::optional(known->second) : read_snapshot(lent.fds[slot]);
      check(s.has_value(), "a snapshot in memory disappeared during a read: start the run again");
      o.snapshots.push_back(std::move(*s));
    }
    // Snapshots of lost nodes are not needed if the others hold the whole state.
    o.is_enough = choice.is_enough || (m.mark.elements > 0 && elements_in(o.snapshots) == m.mark.elements);
  } catch (const std::exception& e) {
    o.problem = one_line(e);
  }
  return o;
}

AnyCheckpoint as_checkpoint(std::vector<Snapshot> snapshots) {
  AnyCheckpoint c{
      .format = CkptFormat::native, .path = "a snapshot in memory", .manifest = snapshots.front().account.manifest};
  read_origin(c.manifest.state_json, c);
  c.tensors = read_snapshots(std::move(snapshots));
  return c;
}

// The first non-empty line, with the rank that reports it.
std::string first_of(const std::vector<std::string>& texts) {
  for (const std::string& text : texts)
    if (!text.empty()) return text;
  return {};
}

}  // namespace

std::optional<AnyCheckpoint> agreed_snapshot(const Options& options, Ranks& ranks, i64 after,
                                             ComparedSnapshots* ahead) {
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
  std::optional<ComparedSnapshots> now;
  ComparedSnapshots& compared = ahead ? *ahead : now.emplace(lent, ranks.place());
  for (auto m = moments.rbegin(); m != moments.rend(); ++m) {
    Opened o = open_moment(lent, m->first.first, m->second, all, ranks, layout_key(options), compared);
    const std::string damage = first_of(ranks.all_gather(o.problem));
    const std::string lack = first_of(ranks.all_gather(o.is_enough ? "" : "it is not complete"));
    if (problem.empty()) problem = damage;
    if (!damage.empty() || !lack.empty()) continue;
    if (!problem.empty()) log::warn("[load] a snapshot is skipped: {}", problem);
    return as_checkpoint(std::move(o.snapshots));
  }
  if (!problem.empty()) log::warn("[load] a snapshot is skipped: {}", problem);
  if (!moments.empty() || !problem.empty())
    log::warn("[load] no snapshot in the agents' memory is intact on all ranks: resuming from disk");
  return {};
}

}  // namespace megalith
