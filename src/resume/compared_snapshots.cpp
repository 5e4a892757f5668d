#include "resume/compared_snapshots.h"

#include <algorithm>

#include "base/one_line.h"
#include "resume/snapshots.h"

namespace megalith {

bool is_own_share(size_t slot, const Place& place) {
  return int(slot / kSnapshotSlots) % place.local_size == place.local_rank;
}

void ComparedSnapshots::begin() {
  if (!lent_.fds.empty()) work_ = std::async(std::launch::async, [this] { return compare(); });
}

// Reads only the newest snapshot, which is usually the one that the start uses, and no copies of other nodes.
// agreed_snapshot() reports unreadable ones.
std::map<size_t, ComparedSnapshots::Seen> ComparedSnapshots::compare() const {
  std::map<size_t, Seen> found;
  i64 newest = -1;
  for (size_t i = 0; i < lent_.fds.size(); ++i) try {
      if (!is_own_share(i, place_)) continue;
      auto s = read_snapshot(lent_.fds[i]);
      if (!s) continue;
      newest = std::max(newest, s->account.manifest.iteration);
      found.emplace(i, Seen{std::move(*s)});
    } catch (const std::exception&) {
      continue;
    }
  std::erase_if(found, [&](const auto& s) { return s.second.snapshot.account.manifest.iteration < newest; });
  for (auto& [_, s] : found) try {
      check_snapshot(s.snapshot, snapshot_threads(place_));
    } catch (const std::exception& e) {
      s.damage = one_line(e);
    }
  return found;
}

std::optional<Snapshot> ComparedSnapshots::take(size_t slot, i64 iteration) {
  if (work_.valid()) seen_ = work_.get();
  if (const auto it = seen_.find(slot);
      it != seen_.end() && it->second.snapshot.account.manifest.iteration == iteration) {
    const Seen seen = std::move(it->second);
    seen_.erase(it);  // frees a mapping of gigabytes
    if (!seen.damage.empty()) throw DamagedCheckpoint(seen.damage);
    return seen.snapshot;
  }
  auto s = read_snapshot(lent_.fd(slot));
  if (!s || s->account.manifest.iteration != iteration) return {};
  check_snapshot(*s, snapshot_threads(place_));
  return s;
}

}  // namespace megalith
