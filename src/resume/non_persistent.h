// Non-persistent checkpoints: saved more often than others, and only the latest is kept. Global: all ranks write to one
// directory. Local: each rank writes to a directory of its own, on a disk of its host.
//
// Local ones fit together only if one run saved them. So each names its run and its rank. One from another run, or from
// an earlier start, is never mixed with the others.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "comm/ranks.h"
#include "resume/non_persistent_mark.h"

namespace megalith {

// The directory of a rank's copies. Global: --non-persistent-global-ckpt-dir, else SAVE/non_persistent. Local:
// --non-persistent-local-ckpt-dir, there rank_RRRRR.
std::string non_persistent_directory(const TrainConfig& train, int rank);

// A name that no other start of a run has, the same on all ranks. To be called by all.
std::string name_of_start(Ranks& ranks);

// The newest one after iteration `after` (and before `before`) that all ranks can read: its iteration, and the path of
// this rank's part. Newer ones that a rank cannot read are skipped, with one line each. Only the rank and layout that
// saved a local one can read it, in a run with the same --save. Another run may have left files on the host's disk.
struct FoundNonPersistent {
  i64 iteration;
  std::string path;
  bool own;  // local
};
std::optional<FoundNonPersistent> newer_non_persistent(const Options& options, Ranks& ranks, i64 after,
                                                       std::optional<i64> before = {});

// The run's newest on this host, of any rank; "" if there is none. It describes the model if there is no other
// checkpoint yet.
std::string newest_non_persistent_here(const TrainConfig& train);

// Removes this rank's later ones once `iteration` is saved. They belong to a branch that this run has left, by
// --ckpt-step or because of damage, and a restart would take them for newer. Calls `still_ours` before each removal. A
// failure is a warning.
void remove_later_non_persistent(const Options& options, int rank, i64 iteration,
                                 const std::function<void()>& still_ours);

}  // namespace megalith
