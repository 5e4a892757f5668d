// A pipeline stage: which pieces of the model its ranks hold, and in what order their tasks run.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/model.h"
#include "plan/schedule.h"

namespace megalith {

// The user's choice of stages, for the rank at one of them.
struct PipelineSpec {
  int stage = 0;
  ScheduleSpec schedule{};        // stages 1: no pipeline
  std::vector<i64> blocks{};      // of each virtual stage, along the model
  std::set<int> micro_batches{};  // numbers of them that steps have, where they are not all as the schedule's
};

// One of the pieces that a rank holds. The suffix is of its programs' names too.
struct StagePiece : ModelPiece {
  int receives = 0, sends = 0;  // values from the piece before, to the one behind; 0: there is none
  int slots = 1;                // copies of what it keeps between its forward and its backward
};

// Programs "forward", "backward", "weights" (where they are tasks of their own) and "evaluate" of each piece, with its
// suffix, and "update". Where gradients are reduced beside the backward, "last-backward" (or "last-weights") is that of
// the last micro-batch. It begins their sums over ranks as they become whole, and the update waits for them. What goes
// to neighbours lies in leaves: "in" and "out" of the forward, "dout" and "din" of the backward, with the suffix. Where
// it is several values, others than the first are "in 1" and so on (message_name).
struct PipelineStage {
  PipelineSpec spec;
  std::map<int, TaskList> tasks;   // by the number of a step's micro-batches
  std::vector<StagePiece> pieces;  // by chunk
};

PipelineStage stage_of(const PipelineSpec& spec);

// The leaves of the first `count` values that a piece sends or gets: "out", "out 1", .. and its suffix.
std::vector<std::string> messages(const std::string& way, int count, const ModelPiece& piece);

// The stages, ascending, that hold a parameter which these blocks read: none where it is one.
std::vector<int> stages_of(const PipelineSpec& spec, const std::vector<int>& blocks);

}  // namespace megalith
