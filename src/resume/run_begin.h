// How all ranks of a run start from the same checkpoint: the newest intact one.
#pragma once
#include "resume/checkpointing.h"
#include "resume/compared_snapshots.h"

namespace megalith {

// Damaged iterations: the run uses an older one.
struct Damaged {
  std::optional<i64> checkpoint{}, non_persistent{};
};

// --load's latest checkpoint, or a newer non-persistent one or snapshot. Error on all ranks if one fails.
RunStart choose_start(const Options& options, Ranks& ranks, const Damaged& damaged = {},
                      ComparedSnapshots* ahead = nullptr);

// Collective: reads a snapshot into the model before its device has memory for the plan (plan/deferred_memory.h).
// False: the snapshot is missing or damaged, so the model has no state yet.
bool fill_ahead(Ranks& ranks, const RunStart& start, ModelState& model);

// Collective: loads the model from the start. If a rank finds damage, all ranks use an older checkpoint, with a
// warning that says why. Returns the start that was loaded. `is_filled`: fill_ahead() has read the state.
RunStart fill_model(const Options& options, Ranks& ranks, RunStart start, ModelState& model, bool is_filled = false);

}  // namespace megalith
