// The snapshots that all ranks find in the agents' memory.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "comm/ranks.h"
#include "comm/snapshot_fds.h"
#include "resume/snapshots.h"

namespace megalith {

// A slot as one rank of its node finds it.
struct FoundSnapshot {
  size_t slot = 0;
  bool is_copy = false;
  i64 iteration = -1;
  SnapshotMark mark{};
  std::string problem{};
};

struct RankFinds {
  std::string node, server;  // the agent's, as SlotServerPlace writes it
  std::vector<FoundSnapshot> slots{};
};

// Collective: by rank. The ranks of a node share its slots.
std::vector<RankFinds> find_snapshots(const SnapshotFds& lent, Ranks& ranks);

// Where a rank's snapshot is. Another rank can read it if it is on the same node, or if that node has a server.
struct Holder {
  std::string node, server;
  size_t slot = 0;
  bool is_copy = false;
};

// All snapshots of one iteration of one start.
struct Moment {
  i64 iteration = 0;
  SnapshotMark mark{};                           // of one of them
  std::map<int, std::vector<Holder>> by_rank{};  // that made it; the maker's node first, copies after it

  bool is_complete() const;
};

// Those after iteration `after`, the newest first.
std::vector<Moment> moments_of(const std::vector<RankFinds>& all, i64 after);

}  // namespace megalith
