// The plan's peak memory in each phase of a training step.
#pragma once
#include "plan/plan.h"

namespace megalith {

// Bytes of the arena: all leaves, and the buffers and workspaces that are live together, without gaps between them.
struct PhaseMemory {
  i64 forward = 0, backward = 0, update = 0;
};
PhaseMemory phase_memory(const Plan& plan);

}  // namespace megalith
