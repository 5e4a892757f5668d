// What a run will use, told before it starts: --dry-run prints it, and a run that can't fit is refused by it.
#pragma once
#include <optional>
#include <string>

#include "comm/place.h"
#include "train/options.h"
#include "train/step.h"

namespace megalith {

// The process's peak memory by the plan, in bytes: of the memory that the arena lives in, and of the host's where that
// is another.
struct MemoryNeed {
  i64 arena = 0;
  i64 batches = 0;  // on their way from the data to the arena; of the host's
  i64 start =
      0;  // what reading or drawing the weights takes beyond all that, while activations are untouched; likewise
  i64 process = 0;  // on the host: libraries, tokenizer, the data's index, the plan itself; on a device: what the
                    // context and libraries hold of it
  i64 copies = 0;   // of the state, while it is saved beside the training (--async-save); of the host's
  std::optional<i64> host{};  // of the process there, if the arena is elsewhere
  bool resumes = false;       // the optimizer's state is read at the start
  i64 total() const { return arena + process + (host ? 0 : batches + start + copies); }
  i64 host_total() const { return host.value_or(0) + batches + start + copies; }
};
// `resumes`: the optimizer's state will be read. Measures the process as it is now.
MemoryNeed memory_need(const Options& options, const PlannedStep& step, const Backend& backend, bool resumes);

// Error if the model's weights, gradients and optimizer state alone are more than there is: told by the flags alone, as
// planning a model of absurd size would take long.
void check_sizes(const Options& options, const Backend& backend);

// Bytes per category, parameters, flops, instructions.
std::string plan_report(const Options& options, const PlannedStep& step, const MemoryNeed& need);

// A line for each stage of a pipeline, planned here without its ranks: its layers, micro-batches in flight, bytes a
// rank; and the bubble. Empty without a pipeline.
std::string stages_report(const Options& options, const Backend& backend);

// Error if the plan needs more memory than there is, with the largest micro-batch and the nearest layouts that fit: the
// distributed optimizer, twice the tensor- or pipeline-parallel ranks, layers computed again.
// Ranks of one host that share its memory each get their part.
void check_memory(const Options& options, const MemoryNeed& need, const Backend& backend, const Place& place = {});

// Error if a device's run needs more of the host's memory than the `available` bytes, which the process may have with
// what it has now.
void check_host_memory(const MemoryNeed& need, i64 available);

}  // namespace megalith
