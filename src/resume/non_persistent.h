// Non-persistent checkpoints: saved more often than persistent ones, and only the latest is kept. Global: all ranks
// write to one directory. Local: each rank writes to its own directory, on a disk of its host.
//
// Local ones must come from one start of one run. So each names its run, its start and its rank. One from another
// run, or from an earlier start, is never combined with the others.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "comm/ranks.h"
#include "resume/non_persistent_mark.h"

namespace megalith {

// The directory of a rank's non-persistent checkpoints. Global: --non-persistent-global-ckpt-dir, else
// SAVE/non_persistent. Local: rank_RRRRR in --non-persistent-local-ckpt-dir.
std::string non_persistent_directory(const TrainConfig& train, int rank);

// Collective. A unique name for this start of the run, the same on all ranks.
std::string name_of_start(Ranks& ranks);

// The newest one after iteration `after` and before `before` that all ranks can read: its iteration, and the path for
// this rank. Newer ones that a rank cannot read are skipped, with one line each. A local one is readable by the same
// rank and layout, in a run with the same --save. Other runs may have left files on the host's disk.
struct FoundNonPersistent {
  i64 iteration;
  std::string path;
  bool own;  // local
};
std::optional<FoundNonPersistent> newer_non_persistent(const Options& options, Ranks& ranks, i64 after,
                                                       std::optional<i64> before = {});

// The run's newest one on this host, of any rank; "" if there is none. It describes the model if there is no
// persistent checkpoint yet.
std::string newest_non_persistent_here(const TrainConfig& train);

// Removes this rank's newer ones after `iteration` is saved. They belong to a branch that this run has left, by
// --ckpt-step or because of damage. A restart would resume from them. Calls `still_ours` before each removal. A failure
// is a warning.
void remove_later_non_persistent(const Options& options, int rank, i64 iteration,
                                 const std::function<void()>& still_ours);

}  // namespace megalith
