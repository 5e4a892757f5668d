// The planned step of one pipeline stage: its pieces of the model as programs of their own, whose kept activations lie
// in as many slots as the schedule has micro-batches in flight.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/gpt.h"
#include "plan/interpreter.h"
#include "plan/schedule.h"

namespace megalith {

struct StepSpec;
struct PlannedStep;

// The user's choice of stages, for the rank at one of them.
struct PipelineSpec {
  int stage = 0;
  ScheduleSpec schedule{};        // stages 1: no pipeline
  std::vector<i64> layers{};      // of each virtual stage, along the model
  std::set<int> micro_batches{};  // numbers of them that steps have, where they are not all as the schedule's
};

// One of the pieces that a rank holds.
struct StagePiece : GptPiece {  // the suffix is of its programs' names too
  int slots = 1;
};

struct PipelineStage {
  PipelineSpec spec;
  std::map<int, TaskList> tasks;   // by the number of a step's micro-batches
  std::vector<StagePiece> pieces;  // by chunk
};

// Programs "forward", "backward", "weights" (where they are tasks of their own) and "evaluate" of each piece, with its
// suffix, and "update". Where gradients are reduced beside the backward, "last-backward" (or "last-weights") is that of
// the last micro-batch, which begins their sums over ranks as they become whole; the update waits for them. What goes
// to neighbours lies in leaves: "in" and "out" of the forward, "dout" and "din" of the backward, with the suffix.
PlannedStep plan_stage(const StepSpec& spec, const Backend& backend);

}  // namespace megalith
