#include "resume/agreed_snapshot.h"

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/log.h"
#include "base/one_line.h"
#include "ckpt/formats.h"
#include "resume/found_snapshots.h"
#include "resume/snapshot_tensors.h"
#include "resume/snapshots.h"

namespace megalith {

namespace {

using nlohmann::json;

std::string text_of(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

// The snapshot that this rank has opened, or why not.
struct Opened {
  std::vector<Snapshot> snapshots;
  std::string problem{};
  bool is_enough = false;  // to resume from
};

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

// The search of one rank among the snapshots of one moment.
class Search {
 public:
  Search(const SnapshotFds& lent, Ranks& ranks, const RankFinds& own, ComparedSnapshots& compared)
      : lent_(lent), ranks_(ranks), own_(own), compared_(compared) {}

  // Collective. Each node verifies every byte of its slots that are to be read. Damaged ones are no longer holders.
  // Returns the fault of the first of them.
  std::string verify(Moment& m) {
    std::string problem;
    near_.clear();
    for (bool goes_on = true; goes_on;) {
      json damaged = json::array();
      for (const auto& [_, holders] : m.by_rank) {
        if (holders.empty() || holders[0].node != own_.node || near_.contains(holders[0].slot)) continue;
        if (!is_own_share(holders[0].slot, ranks_.place())) continue;
        if (std::string why = verify_slot(holders[0].slot, m.iteration); !why.empty())
          damaged.push_back({own_.node, holders[0].slot, why});
      }
      goes_on = false;
      for (const std::string& text : ranks_.all_gather(text_of(damaged)))
        for (const json& d : json::parse(text)) {
          goes_on = true;
          if (problem.empty()) problem = d[2];
          const auto node = d[0].get<std::string>();
          const auto slot = d[1].get<size_t>();
          for (auto& [_, holders] : m.by_rank)
            std::erase_if(holders, [&](const Holder& h) { return h.node == node && h.slot == slot; });
        }
    }
    return problem;
  }

  Opened open(const Moment& m, const std::string& layout) const {
    Opened o;
    try {
      const bool is_same =
          m.is_complete() && m.mark.is_whole && m.mark.world == ranks_.size() && m.mark.layout == layout;
      std::vector<Holder> near, far;
      for (const auto& [rank, holders] : m.by_rank)
        if (!holders.empty() && (!is_same || rank == ranks_.rank()))
          (holders[0].node == own_.node ? near : far).push_back(holders[0]);
      for (const Holder& h : near) add(o, open_near(h));
      // Snapshots of other nodes are not needed if this node holds the whole state.
      o.is_enough = m.mark.elements > 0 && elements_in(o.snapshots) == m.mark.elements;
      if (o.is_enough) return o;
      for (const Holder& h : far) add(o, open_far(h));
      o.is_enough = m.is_complete() || (m.mark.elements > 0 && elements_in(o.snapshots) == m.mark.elements);
    } catch (const std::exception& e) {
      o.problem = one_line(e);
    }
    return o;
  }

 private:
  std::string verify_slot(size_t slot, i64 iteration) {
    try {
      if (auto s = compared_.take(slot, iteration)) near_.emplace(slot, std::move(*s));
    } catch (const std::exception& e) {
      return one_line(e);
    }
    return {};
  }

  // Verified data is near the rank, so it reads this data fastest.
  std::optional<Snapshot> open_near(const Holder& h) const {
    const auto known = near_.find(h.slot);
    return known != near_.end() ? std::optional(known->second) : read_snapshot(lent_.fd(h.slot));
  }

  static std::optional<Snapshot> open_far(const Holder& h) {
    return read_far_snapshot(std::make_shared<const FarSlot>(SlotServerPlace::from_text(h.server), int(h.slot)));
  }

  static void add(Opened& o, std::optional<Snapshot> s) {
    check(s.has_value(), "a snapshot in memory disappeared during a read: start the run again");
    o.snapshots.push_back(std::move(*s));
  }

  const SnapshotFds& lent_;
  Ranks& ranks_;
  const RankFinds& own_;
  ComparedSnapshots& compared_;
  std::map<size_t, Snapshot> near_;
};

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
  const std::vector<RankFinds> all = find_snapshots(lent, ranks);
  std::string problem;
  for (const RankFinds& finds : all)
    for (const FoundSnapshot& f : finds.slots)
      if (problem.empty()) problem = f.problem;
  std::optional<ComparedSnapshots> now;
  Search search(lent, ranks, all[size_t(ranks.rank())], ahead ? *ahead : now.emplace(lent, ranks.place()));
  std::vector<Moment> moments = moments_of(all, after);
  for (Moment& m : moments) {
    const std::string damage = search.verify(m);
    Opened o = search.open(m, layout_key(options));
    const std::string why = first_of(ranks.all_gather(o.problem));
    const std::string lack = first_of(ranks.all_gather(o.is_enough ? "" : "it is not complete"));
    for (const std::string& w : {damage, why})
      if (problem.empty()) problem = w;
    if (!why.empty() || !lack.empty()) continue;
    if (!problem.empty()) log::warn("[load] a snapshot is skipped: {}", problem);
    return as_checkpoint(std::move(o.snapshots));
  }
  if (!problem.empty()) log::warn("[load] a snapshot is skipped: {}", problem);
  if (!moments.empty() || !problem.empty())
    log::warn("[load] no snapshot in the agents' memory is intact on all ranks: resuming from disk");
  return {};
}

}  // namespace megalith
