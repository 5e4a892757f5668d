// Memory for snapshots of a node's ranks, and for copies of snapshots of other nodes: two memory files per rank, with
// descriptors that ranks inherit (comm/snapshot_fds.h). The agent owns them: they survive the ranks, and the system
// frees them when the agent exits.
#pragma once
#include <deque>
#include <future>
#include <map>
#include <mutex>

#include "comm/snapshot_fds.h"
#include "comm/socket.h"

namespace megalith::launch {

class SnapshotMemory {
 public:
  // Error if the system cannot create a memory file. No files if `steps` is 0.
  SnapshotMemory(i64 steps, int ranks);
  ~SnapshotMemory();
  SnapshotMemory(const SnapshotMemory&) = delete;
  SnapshotMemory& operator=(const SnapshotMemory&) = delete;

  // Call it when no rank reads the memory any more. Returns immediately; the system frees the memory meanwhile.
  void give_back();

  // For any thread. A file's index is its position in SnapshotFds; it never changes.
  SnapshotFds lent() const;
  int file(int index) const;  // its descriptor; -1: there is none
  bool is_copy(int index) const { return index >= own_; }
  int copies_of(int rank);  // the first of kSnapshotSlots files for a rank of another node, made here; -1: no memory

 private:
  bool add();

  const i64 steps_;
  int own_ = 0;
  mutable std::mutex lock_;
  std::deque<Socket> files_;
  std::map<int, int> copies_;  // by rank
  std::future<void> given_back_;
};

}  // namespace megalith::launch
