// Work that a standby rank does while other ranks train, so that it takes over faster.
#pragma once
#include <memory>

#include "comm/ranks.h"
#include "plan/interpreter.h"
#include "resume/checkpointing.h"
#include "settings/options.h"
#include "step/step.h"

namespace megalith {

struct PreparedRun {
  std::unique_ptr<PlannedStep> step;         // nullptr: this rank was not on standby
  std::unique_ptr<Interpreter> interpreter;  // without the plan's memory; nullptr if the backend does not support this
  bool holds_state = false;                  // all ranks have free memory for the state while other ranks train
};

// Collective: plans the step, connects the device, prepares kernels.
PreparedRun prepare_run(const Options& options, const Backend& backend, Ranks& ranks);

// Collective: reads the state of a snapshot while the training ranks still use the device's memory. False: nothing was
// read, and the memory for the state is free again.
bool read_ahead(PreparedRun& run, const RunStart& start, Ranks& ranks);

}  // namespace megalith
