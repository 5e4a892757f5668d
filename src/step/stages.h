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
  bool receives = false, sends = false;  // has a piece before it, behind it
  int slots = 1;                         // copies of what it keeps between its forward and its backward
};

// Programs "forward", "backward", "weights" (where they are tasks of their own) and "evaluate" of each piece, with its
// suffix, and "update". Where gradients are reduced beside the backward, "last-backward" (or "last-weights") is that of
// the last micro-batch. It begins their sums over ranks as they become whole, and the update waits for them. What goes
// to neighbours lies in leaves: "in" and "out" of the forward, "dout" and "din" of the backward, with the suffix.
struct PipelineStage {
  PipelineSpec spec;
  std::map<int, TaskList> tasks;   // by the number of a step's micro-batches
  std::vector<StagePiece> pieces;  // by chunk
};

PipelineStage stage_of(const PipelineSpec& spec);

}  // namespace megalith
