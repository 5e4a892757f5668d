// The memory that the agent of `megalith launch` lends a rank for snapshots: descriptors that the rank inherits. It
// belongs to the agent, so it outlives the rank; it has no name, so it ends with the last process that holds it.
#pragma once
#include <vector>

#include "comm/place.h"

namespace megalith {

inline constexpr int kSnapshotSlots = 2;  // of a rank: one is written while the other is whole

struct SnapshotFds {
  i64 steps = 0;         // between two snapshots; 0: none are made
  std::vector<int> fds;  // of the node's ranks in their order, kSnapshotSlots each

  // Parses MEGALITH_SNAPSHOT_FDS: "STEPS:FD,FD,...". Empty if it is not set; Error if it has another form.
  static SnapshotFds from(const Environment& env);
  std::string text() const;
};

}  // namespace megalith
