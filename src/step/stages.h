// A pipeline stage: the model pieces that its ranks hold, and the order of their tasks.
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

// One of a rank's model pieces. Its programs' names have the suffix too.
struct StagePiece : ModelPiece {
  int receives = 0, sends = 0;  // number of values from the previous piece, and to the next; 0: none
  int slots = 1;                // slots for the values that it keeps between its forward and its backward
};

// Each piece has programs "forward", "backward", "weights" (if those are separate tasks) and "evaluate", with its
// suffix; then "update". If gradients are reduced during the backward, "last-backward" (or "last-weights") is the
// program of the last micro-batch. It starts the sums over ranks as gradients complete, and the update waits for them.
// Messages to and from neighbours are leaves: "in" and "out" of the forward, "dout" and "din" of the backward, with the
// suffix. Further values of a message are "in 1" and so on (message_name).
struct PipelineStage {
  PipelineSpec spec;
  std::map<int, TaskList> tasks;   // by the number of a step's micro-batches
  std::vector<StagePiece> pieces;  // by chunk
};

PipelineStage stage_of(const PipelineSpec& spec);

// The leaves of the first `count` values that a piece sends or gets: "out", "out 1", .. and its suffix.
std::vector<std::string> messages(const std::string& way, int count, const ModelPiece& piece);

// The stages, ascending, that hold a parameter which these blocks read; empty if there is only one.
std::vector<int> stages_of(const PipelineSpec& spec, const std::vector<int>& blocks);

}  // namespace megalith
