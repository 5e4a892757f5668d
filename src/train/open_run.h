// A run's start: everything is checked and opened before memory is taken.
#pragma once
#include "comm/ranks.h"
#include "data/build_datasets.h"
#include "plan/interpreter.h"
#include "planner/memory_need.h"
#include "resume/checkpointing.h"
#include "resume/save_place.h"
#include "settings/options.h"
#include "step/step.h"
#include "train/start_ahead.h"

namespace megalith {

struct Opened {
  RunStart start;
  PlannedStep step;
  SampleCounts asked;  // of the datasets
  Datasets datasets;
  MemoryNeed need;
  SavePlaces places;  // that it saves into
  double began = 0;   // StartAhead::began
};

// To be called by all ranks. Prints the plan's report. Error, on all ranks, if a rank finds something wrong: sizes,
// memory, data, the place to save, what is to be loaded. `planned`: by a rank that has stood by.
Opened open_run(const Options& options, const Backend& backend, Ranks& ranks, const StartAhead& ahead = {},
                std::optional<PlannedStep> planned = {});

// To be called by all ranks.
void connect_ranks(const PlannedStep& step, const Backend& backend, Ranks& ranks);

// To be called by all ranks. So many samples of what the options name; the training set is there.
Datasets open_data(const Options& options, Ranks& ranks, const SampleCounts& counts);

Coord coord_of(const Plan& plan, const Ranks& ranks);      // of this rank; the origin where a plan is for one
int stage_of(const Options& options, const Ranks& ranks);  // of the pipeline; 0 in a dry run

}  // namespace megalith
