// The memory that the agent of `megalith launch` lends a rank for snapshots: descriptors that the rank inherits. It
// belongs to the agent, so it outlives the rank. It has no name, so it ends with the last process that holds it.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"
#include "comm/place.h"

namespace megalith {

inline constexpr int kSnapshotSlots = 2;  // of a rank: one is written while the other is whole

// An agent's port for ranks of other nodes, and the token that they need. Port 0: none.
struct SlotServerKey {
  int port = 0;
  std::string token{};
};

struct SnapshotFds {
  i64 steps = 0;              // between two snapshots; 0: none are made
  int replicas = 0;           // other nodes that hold a copy of each snapshot
  std::vector<int> fds{};     // of the node's ranks in their order, kSnapshotSlots each
  std::vector<int> copies{};  // of ranks of other nodes, kSnapshotSlots each
  SlotServerKey server{};

  size_t size() const { return fds.size() + copies.size(); }
  int fd(size_t slot) const { return slot < fds.size() ? fds[slot] : copies[slot - fds.size()]; }
  bool is_copy(size_t slot) const { return slot >= fds.size(); }

  // Parses MEGALITH_SNAPSHOT_FDS: "STEPS:FD,FD,...", or with other nodes
  // "STEPS:FD,...;REPLICAS:FD,...;PORT:TOKEN". Empty if it is not set; Error if it has another form.
  static SnapshotFds from(const Environment& env);
  std::string text() const;
};

}  // namespace megalith
