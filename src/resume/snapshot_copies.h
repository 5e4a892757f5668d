// Copies of this rank's snapshots in the memory of the next nodes (--snapshot-replicas of `megalith launch`).
#pragma once
#include <optional>
#include <vector>

#include "comm/ranks.h"
#include "comm/slot_client.h"
#include "comm/snapshot_fds.h"

namespace megalith {

class SnapshotCopies {
 public:
  // Collective: all ranks exchange the addresses of their agents. `begun`: the iteration of the snapshot that the run
  // resumes from. A copy of it stays until the first turn is over.
  SnapshotCopies(const SnapshotFds& lent, Ranks& ranks, std::optional<i64> begun);

  // Writes copies of a finished slot. Two turns in a row write different slots. Error if a node does not take them.
  void write(int fd, int turn);

 private:
  struct Keeper {
    SlotServerPlace server;
    std::vector<SlotLink> links{};
    int file = -1;
    int first = 0;  // the slot of turn 0
  };
  void connect(Keeper& keeper) const;

  const int rank_;
  const size_t number_of_links_;  // to each node
  const std::optional<i64> begun_;
  std::vector<Keeper> keepers_;
};

}  // namespace megalith
