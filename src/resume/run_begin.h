// How all ranks of a run begin from the same checkpoint: the newest that is whole.
#pragma once
#include "resume/checkpointing.h"
#include "resume/compared_snapshots.h"

namespace megalith {

// Iterations that turned out to be damaged: only what is older is taken.
struct Damaged {
  std::optional<i64> checkpoint{}, non_persistent{};
};

// --load's latest checkpoint, or a copy that is newer. Error on all ranks if it fails on one.
RunStart choose_start(const Options& options, Ranks& ranks, const Damaged& damaged = {},
                      ComparedSnapshots* ahead = nullptr);

// Fills the model from it, on all ranks. If a rank finds it damaged, all turn to an older one, with a warning that
// says why. Returns what the model was filled from.
RunStart fill_model(const Options& options, Ranks& ranks, RunStart start, ModelState& model);

}  // namespace megalith
