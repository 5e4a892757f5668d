#include "resume/snapshot_copies.h"

#include <algorithm>
#include <string>

#include "resume/snapshot_slot.h"
#include "resume/snapshots.h"

namespace megalith {

// One connection alternates between the network, checksums and memory, and networks limit the rate of a connection.
// More connections than threads of the rank do not help.
static size_t links_of(const Place& place) {
  constexpr int kFewest = 2, kMost = 8;
  return size_t(std::clamp(snapshot_threads(place), kFewest, kMost));
}

SnapshotCopies::SnapshotCopies(const SnapshotFds& lent, Ranks& ranks, std::optional<i64> begun)
    : rank_(ranks.rank()), number_of_links_(links_of(ranks.place())), begun_(begun) {
  if (lent.server.port == 0) return;
  const std::string own = SlotServerPlace::of_own(lent.server).text();
  std::vector<std::string> nodes;  // in the order of their ranks: a ring
  for (const std::string& server : ranks.all_gather(own))
    if (std::ranges::find(nodes, server) == nodes.end()) nodes.push_back(server);
  const size_t at = size_t(std::ranges::find(nodes, own) - nodes.begin());
  for (size_t i = 1; i <= size_t(lent.replicas) && i < nodes.size(); ++i)
    keepers_.push_back({.server = SlotServerPlace::from_text(nodes[(at + i) % nodes.size()])});
}

void SnapshotCopies::connect(Keeper& k) const {
  const bool is_first = k.file < 0;
  while (k.links.size() < number_of_links_) k.links.emplace_back(k.server);
  k.file = k.links[0].copies_of(rank_);
  for (int i = 0; is_first && begun_ && i < kSnapshotSlots; ++i) try {
      const auto s = read_far_snapshot(std::make_shared<const FarSlot>(k.server, k.file + i));
      if (s && s->account.manifest.iteration == *begun_) k.first = 1 - i;
    } catch (const std::exception&) {  // empty or damaged: this slot may be written
    }
}

void SnapshotCopies::write(int fd, int turn) {
  for (Keeper& k : keepers_) try {
      if (k.links.size() < number_of_links_) connect(k);
      copy_snapshot(fd, k.links, k.file + (k.first + turn) % kSnapshotSlots);
    } catch (...) {
      k.links.clear();  // the next snapshot connects again
      throw;
    }
}

}  // namespace megalith
