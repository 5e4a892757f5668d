// Verifies this rank's share of its node's newest snapshots in the background. It overlaps the opening of the device,
// which takes seconds and little host memory bandwidth.
#pragma once
#include <future>
#include <map>

#include "comm/snapshot_fds.h"
#include "resume/snapshot_slot.h"

namespace megalith {

// Whether this rank verifies the slot: the ranks of a node divide its slots.
bool is_own_share(size_t slot, const Place& place);

class ComparedSnapshots {
 public:
  ComparedSnapshots(const SnapshotFds& lent, const Place& place) : lent_(lent), place_(place) {}
  ComparedSnapshots(const ComparedSnapshots&) = delete;
  ComparedSnapshots& operator=(const ComparedSnapshots&) = delete;

  void begin();  // called when no rank writes slots any more

  // The slot's snapshot of this iteration, with every byte verified. Empty if it has another iteration. It first
  // verifies bytes that are not yet verified. DamagedCheckpoint if a checksum differs.
  std::optional<Snapshot> take(size_t slot, i64 iteration);

 private:
  struct Seen {
    Snapshot snapshot;
    std::string damage{};
  };
  std::map<size_t, Seen> compare() const;

  const SnapshotFds lent_;
  const Place place_;
  std::future<std::map<size_t, Seen>> work_;
  std::map<size_t, Seen> seen_;
};

}  // namespace megalith
