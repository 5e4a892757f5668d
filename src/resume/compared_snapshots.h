// This rank's share of its node's newest snapshots, compared byte by byte beside what else a start does: a device takes
// seconds to come up, and needs no memory of the host for it.
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

  // The slot's snapshot of this iteration, every byte of it compared; nothing where it is another one's. What it has
  // not compared by then it compares now. DamagedCheckpoint if a byte is another one.
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
