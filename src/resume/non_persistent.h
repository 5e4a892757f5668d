// Copies of the state that are saved more often than checkpoints, and of which only the latest stays: all ranks
// together in one directory (global), or each rank in a directory of its own, on a disk of its host (local).
//
// Ranks' local copies are of one moment only if one run saved them. So each says which run it was, and which rank: a
// copy that was brought from elsewhere, or is left from another start, never mixes with the others'.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "comm/ranks.h"
#include "resume/non_persistent_mark.h"

namespace megalith {

// Where a rank saves them. Global: --non-persistent-global-ckpt-dir, else SAVE/non_persistent. Local:
// --non-persistent-local-ckpt-dir, there rank_RRRRR.
std::string non_persistent_directory(const TrainConfig& train, int rank);

// A name that no other start of a run has, the same on all ranks. To be called by all.
std::string name_of_start(Ranks& ranks);

// The newest copy after iteration `after` (and before `before`) that all ranks can read: the iteration, and the place
// of this rank's. Newer ones are passed over with one line each. A local copy can be read by the rank and layout that
// saved it alone, and by runs of the same --save: the directory on a host's disk may hold what another run left there.
struct FoundNonPersistent {
  i64 iteration;
  std::string path;
  bool own;  // local
};
std::optional<FoundNonPersistent> newer_non_persistent(const Options& options, Ranks& ranks, i64 after,
                                                       std::optional<i64> before = {});

// The newest of the run's copies that this host has, of any rank, if it could begin with one: what tells its model
// where there is no checkpoint yet. "" if there is none.
std::string newest_non_persistent_here(const TrainConfig& train);

// Once `iteration` is saved: this rank's later copies go. They are of a branch that this run has left, by --ckpt-step
// or for damage, and would be taken for newer. Before each `still_ours` is asked. A failure is a warning.
void remove_later_non_persistent(const Options& options, int rank, i64 iteration,
                                 const std::function<void()>& still_ours);

}  // namespace megalith
