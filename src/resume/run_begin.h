// How all ranks of a run begin from the same checkpoint: the newest that is whole.
#pragma once
#include "resume/checkpointing.h"
#include "resume/compared_snapshots.h"

namespace megalith {

// Iterations that proved damaged: only older ones are used.
struct Damaged {
  std::optional<i64> checkpoint{}, non_persistent{};
};

// --load's latest checkpoint, or a copy that is newer. Error on all ranks if it fails on one.
RunStart choose_start(const Options& options, Ranks& ranks, const Damaged& damaged = {},
                      ComparedSnapshots* ahead = nullptr);

// Fills the model from it, on all ranks. If a rank finds it damaged, all use an older one, with a warning that says
// why. Returns the start that filled the model.
RunStart fill_model(const Options& options, Ranks& ranks, RunStart start, ModelState& model);

}  // namespace megalith
