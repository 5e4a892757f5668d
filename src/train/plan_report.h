// What a run will use, told before it starts: --dry-run prints it, and a run that can't fit is refused by it.
#pragma once
#include <string>

#include "train/options.h"
#include "train/step.h"

namespace megalith {

// The process's peak memory by the plan, in bytes.
struct MemoryNeed {
  i64 arena = 0;
  i64 batches = 0;       // on their way from the data to the arena
  i64 start = 0;         // what reading or drawing the weights takes beyond all that, while activations are untouched
  i64 process = 0;       // libraries, tokenizer, the data's index, the plan itself
  bool resumes = false;  // the optimizer's state is read at the start
  i64 total() const { return arena + batches + start + process; }
};
// `resumes`: the optimizer's state will be read. Measures the process as it is now.
MemoryNeed memory_need(const Options& options, const PlannedStep& step, const Backend& backend, bool resumes);

// Error if the model's weights, gradients and optimizer state alone are more than there is: told by the flags alone, as
// planning a model of absurd size would take long.
void check_sizes(const Options& options, const Backend& backend);

// Bytes per category, parameters, flops, instructions.
std::string plan_report(const Options& options, const PlannedStep& step, const MemoryNeed& need);

// Error if the plan needs more memory than there is, with the largest micro-batch that fits.
void check_memory(const Options& options, const MemoryNeed& need, const Backend& backend);

}  // namespace megalith
