// The common start of all ranks. Each rank opens the checkpoint itself. If the newest one is damaged on a rank's disk,
// all ranks use an older one that is intact everywhere. Checksums of a Megatron checkpoint are verified then; ranks
// that read the same files divide this work.
#pragma once
#include "comm/ranks.h"
#include "resume/checkpointing.h"

namespace megalith {

// Collective. Error on all ranks if one rank has an error, or if only some ranks find a checkpoint. `no_later_than`:
// newer checkpoints are ignored.
RunStart agreed_start(const Options& options, Ranks& ranks, std::optional<i64> no_later_than = {});

}  // namespace megalith
