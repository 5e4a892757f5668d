// This rank's share of its node's newest snapshots, verified byte by byte during other work of a start: a device
// takes seconds to open, and needs no host memory for it.
#pragma once
#include <future>
#include <map>

#include "comm/snapshot_fds.h"
#include "resume/snapshot_slot.h"

namespace megalith {

// A share of the node's slots: the others of the node look at the rest.
bool is_own_share(size_t slot, const Place& place);

class ComparedSnapshots {
 public:
  ComparedSnapshots(const SnapshotFds& lent, const Place& place) : lent_(lent), place_(place) {}
  ComparedSnapshots(const ComparedSnapshots&) = delete;
  ComparedSnapshots& operator=(const ComparedSnapshots&) = delete;

  void begin();  // where the slots stay as they are from now on

  // The slot's snapshot of this iteration, with every byte verified. Empty if it has another iteration. Bytes that
  // are not verified yet are verified now. DamagedCheckpoint if a byte differs.
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
