// Memory for snapshots of a node's ranks: two memory files per rank, with descriptors that ranks inherit
// (comm/snapshot_fds.h). The agent owns them: they survive the ranks, and the system frees them when the agent exits.
#pragma once
#include <vector>

#include "comm/snapshot_fds.h"
#include "comm/socket.h"

namespace megalith::launch {

class SnapshotMemory {
 public:
  // Error if the system cannot create a memory file. No files if `steps` is 0.
  SnapshotMemory(i64 steps, int ranks);
  ~SnapshotMemory();  // no rank may still read it
  SnapshotMemory(const SnapshotMemory&) = delete;
  SnapshotMemory& operator=(const SnapshotMemory&) = delete;

  const SnapshotFds& lent() const { return lent_; }

 private:
  std::vector<Socket> files_;
  SnapshotFds lent_;
};

}  // namespace megalith::launch
