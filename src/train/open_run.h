// The start of a run: it checks and opens everything before it allocates memory.
#pragma once
#include "comm/ranks.h"
#include "data/build_datasets.h"
#include "plan/interpreter.h"
#include "planner/memory_need.h"
#include "resume/checkpointing.h"
#include "resume/save_place.h"
#include "settings/options.h"
#include "train/prepared_run.h"
#include "train/start_ahead.h"

namespace megalith {

struct Opened {
  RunStart start;
  std::unique_ptr<PlannedStep> step;
  std::unique_ptr<Interpreter> interpreter;  // only on a rank that was on standby; without the plan's memory
  bool is_filled = false;                    // the interpreter has the start's state
  SampleCounts asked;                        // number of samples of the datasets
  Datasets datasets;
  MemoryNeed need;
  SavePlaces places;  // the directories that the run saves into
  double began = 0;   // StartAhead::began
};

// All ranks call it. Prints the plan report. Error, on all ranks, if a rank finds a mistake in sizes, memory, data, the
// save directory or the checkpoint. `prepared`: what this rank prepared on standby.
Opened open_run(const Options& options, const Backend& backend, Ranks& ranks, const StartAhead& ahead = {},
                PreparedRun prepared = {});

// All ranks call it.
void connect_ranks(const PlannedStep& step, const Backend& backend, Ranks& ranks);

// All ranks call it. `counts`: samples of each set. The training set always exists.
Datasets open_data(const Options& options, Ranks& ranks, const SampleCounts& counts);

Coord coord_of(const Plan& plan, const Ranks& ranks);      // of this rank; the origin if the plan is for one rank
int stage_of(const Options& options, const Ranks& ranks);  // pipeline stage of this rank; 0 in a dry run

}  // namespace megalith
