// Memory for snapshots of a node's ranks. The agent owns it, so it survives the ranks (comm/snapshot_fds.h).
#pragma once
#include <vector>

#include "comm/snapshot_fds.h"
#include "comm/socket.h"

namespace megalith::launch {

class SnapshotMemory {
 public:
  // Error if the system has no memory for it. Empty if `steps` is 0.
  SnapshotMemory(i64 steps, int ranks);
  ~SnapshotMemory();  // no rank reads it any more
  SnapshotMemory(const SnapshotMemory&) = delete;
  SnapshotMemory& operator=(const SnapshotMemory&) = delete;

  const SnapshotFds& lent() const { return lent_; }

 private:
  std::vector<Socket> files_;
  SnapshotFds lent_;
};

}  // namespace megalith::launch
