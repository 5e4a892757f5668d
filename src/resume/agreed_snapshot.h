// The newest snapshot in the agents' memory from which all ranks can resume.
#pragma once
#include <optional>

#include "ckpt/any_checkpoint.h"
#include "comm/ranks.h"
#include "resume/compared_snapshots.h"
#include "settings/options.h"

namespace megalith {

// Collective: all ranks share the verification of every byte. Empty if there is no snapshot after iteration `after`. If
// there are some, but none is intact on all ranks: empty, and a warning says why. `ahead`: what this rank has read
// already.
std::optional<AnyCheckpoint> agreed_snapshot(const Options& options, Ranks& ranks, i64 after,
                                             ComparedSnapshots* ahead = nullptr);

}  // namespace megalith
