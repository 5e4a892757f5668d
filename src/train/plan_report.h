// What a run will use, told before it starts: --dry-run prints it, and a run that can't fit is refused by it.
#pragma once
#include <string>

#include "train/options.h"
#include "train/step.h"

namespace megalith {

// Bytes per category, parameters, flops, instructions.
std::string plan_report(const Options& options, const PlannedStep& step, const Backend& backend);

// The process's peak memory by the plan: the arena and what the process has anyway.
i64 total_bytes(const PlannedStep& step, const Backend& backend);

// Error if the plan needs more memory than there is, with the largest micro-batch that fits.
void check_memory(const Options& options, const PlannedStep& step, const Backend& backend);

}  // namespace megalith
