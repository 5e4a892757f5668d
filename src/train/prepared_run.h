// What a standby rank prepares while other ranks train, so that less is left when it takes over.
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
  std::unique_ptr<Interpreter> interpreter;  // its memory is deferred; nullptr if the backend has none of this kind
  bool holds_state = false;                  // all ranks have memory for the state beside that of the training ranks
};

// Collective: plans the step, connects the device, prepares kernels.
PreparedRun prepare_run(const Options& options, const Backend& backend, Ranks& ranks);

// Collective: reads the state of a snapshot while the device's memory for the plan is still in use. False: nothing is
// read, and the memory that was held for it is free.
bool read_ahead(PreparedRun& run, const RunStart& start, Ranks& ranks);

}  // namespace megalith
