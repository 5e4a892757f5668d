// The common start of all ranks. Each rank opens the checkpoint by itself. If one rank finds the newest one damaged
// (on its disk, in its copy), all ranks use one that is intact for every rank. A checkpoint of Megatron is then
// verified; ranks that see the same files share the work.
#pragma once
#include "comm/ranks.h"
#include "resume/checkpointing.h"

namespace megalith {

// To be called by all ranks. Error on all if it is one on any, or if some find a checkpoint and some none.
// `no_later_than`: newer checkpoints are as if they were not there.
RunStart agreed_start(const Options& options, Ranks& ranks, std::optional<i64> no_later_than = {});

}  // namespace megalith
