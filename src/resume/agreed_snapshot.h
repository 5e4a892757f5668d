// The newest snapshot in the agents' memory that all ranks can go on from.
#pragma once
#include <optional>

#include "ckpt/any_checkpoint.h"
#include "comm/ranks.h"
#include "resume/compared_snapshots.h"
#include "settings/options.h"

namespace megalith {

// To be called by all ranks, which share out reading every byte. Nothing if there is none behind iteration `after`;
// where there are some but none is whole on all ranks, that is a warning which says why. `ahead`: what this rank has
// read already.
std::optional<AnyCheckpoint> agreed_snapshot(const Options& options, Ranks& ranks, i64 after,
                                             ComparedSnapshots* ahead = nullptr);

}  // namespace megalith
