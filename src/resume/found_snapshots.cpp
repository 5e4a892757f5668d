#include "resume/found_snapshots.h"

#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/one_line.h"
#include "comm/member.h"
#include "comm/slot_messages.h"
#include "resume/compared_snapshots.h"
#include "resume/snapshot_slot.h"

namespace megalith {

namespace {

using nlohmann::json;

// No two memory files of a host have one number at a time.
std::string node_key(const SnapshotFds& lent) {
  struct stat s {};
  if (lent.fds.empty() || fstat(lent.fds[0], &s) != 0) return {};
  return fmt::format("{} {} {}", Member::self(0).host, u64(s.st_dev), u64(s.st_ino));
}

std::vector<FoundSnapshot> look_at_share(const SnapshotFds& lent, const Place& place) {
  std::vector<FoundSnapshot> found;
  for (size_t i = 0; i < lent.size(); ++i) {
    if (!is_own_share(i, place)) continue;
    FoundSnapshot f{.slot = i, .is_copy = lent.is_copy(i)};
    try {
      const auto s = read_snapshot(lent.fd(i));
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
    list.push_back({f.slot, f.is_copy, f.iteration, f.mark.start, f.mark.rank, f.mark.world, f.mark.is_whole,
                    f.mark.elements, f.mark.layout, f.problem});
  return json{{"node", finds.node}, {"server", finds.server}, {"slots", list}}.dump(-1, ' ', false,
                                                                                    json::error_handler_t::replace);
}

RankFinds finds_from(const std::string& text) {
  const json j = json::parse(text);
  RankFinds finds{.node = j["node"], .server = j["server"]};
  for (const json& f : j["slots"])
    finds.slots.push_back({f[0], f[1], f[2], {f[3], f[4], f[5], f[6], f[7], f[8]}, f[9]});
  return finds;
}

}  // namespace

std::vector<RankFinds> find_snapshots(const SnapshotFds& lent, Ranks& ranks) {
  std::vector<RankFinds> all;
  const std::string server = SlotServerPlace::of_own(lent.server).text();
  for (const std::string& text :
       ranks.all_gather(text_of({node_key(lent), server, look_at_share(lent, ranks.place())})))
    all.push_back(finds_from(text));
  return all;
}

bool Moment::is_complete() const {
  return int(by_rank.size()) == mark.world &&
         std::ranges::none_of(by_rank, [](const auto& made) { return made.second.empty(); });
}

std::vector<Moment> moments_of(const std::vector<RankFinds>& all, i64 after) {
  std::map<std::pair<i64, std::string>, Moment> moments;
  for (const RankFinds& finds : all)
    for (const FoundSnapshot& f : finds.slots) {
      if (!f.problem.empty() || f.iteration <= after) continue;
      Moment& m = moments[{f.iteration, f.mark.start}];
      m.iteration = f.iteration;
      m.mark = f.mark;
      m.by_rank[f.mark.rank].push_back({finds.node, finds.server, f.slot, f.is_copy});
    }
  std::vector<Moment> newest_first;
  for (auto it = moments.rbegin(); it != moments.rend(); ++it) newest_first.push_back(std::move(it->second));
  for (Moment& m : newest_first)
    for (auto& [_, holders] : m.by_rank)
      std::ranges::stable_sort(holders, {}, [](const Holder& h) { return h.is_copy; });
  return newest_first;
}

}  // namespace megalith
