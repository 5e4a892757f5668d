// Copies of the state that are saved more often than checkpoints, and of which only the latest stays: all ranks
// together in one directory (global), or each rank in a directory of its own, on a disk of its host (local).
#pragma once
#include <optional>
#include <string>

#include "comm/ranks.h"
#include "train/options.h"

namespace megalith {

// Where a rank saves them. Global: --non-persistent-global-ckpt-dir, else SAVE/non_persistent. Local:
// --non-persistent-local-ckpt-dir, there rank_RRRRR.
std::string copy_directory(const TrainConfig& train, int rank);

// The directory that a path means, whichever way it is written.
std::string place_of(const std::string& path);

// A copy that is newer than iteration `than`, if all ranks can read it: the iteration, and the directory of this rank.
// A local copy can be read by the layout that saved it alone, and by runs of the same --save: the directory on a host's
// disk may hold what another run left there.
struct FoundCopy {
  i64 iteration;
  std::string dir;
  bool own;  // local
};
std::optional<FoundCopy> newer_copy(const Options& options, Ranks& ranks, i64 than);

}  // namespace megalith
