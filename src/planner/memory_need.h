// Predicts the memory of a run.
#pragma once
#include <optional>

#include "plan/interpreter.h"
#include "settings/options.h"
#include "step/step.h"

namespace megalith {

// The process's peak bytes by the plan: of the arena's memory, and of the host's memory if the arena is on a device.
struct MemoryNeed {
  i64 arena = 0;
  i64 host_state = 0;  // of optimizer and activations, in the host's memory
  // On the host: libraries, tokenizer, index of the data, the plan. On a device: the context and its libraries.
  i64 process = 0;
  // On a device with enough room: copies of the state that --async-save makes there first. Then training does not
  // wait for their transfer to the host.
  i64 device_copies = 0;
  // In the host's memory:
  i64 batches = 0;            // between the data and the arena
  i64 start = 0;              // additional bytes to read or draw the weights, before activations are in use
  i64 data = 0;               // mapped pages of data files
  i64 others = 0;             // what evaluation and saves add: code, stacks and texts
  i64 copies = 0;             // copies of the state during a save (--async-save)
  i64 saving = 0;             // file buffers while a checkpoint is written
  std::optional<i64> host{};  // of the host process, if the arena is on a device
  bool resumes = false;       // the start reads the optimizer state
  i64 total() const { return arena + process + device_copies + (host ? 0 : beside()); }
  i64 host_total() const { return host.value_or(0) + beside(); }
  i64 beside() const { return host_state + batches + start + data + others + copies + saving; }
};
// `resumes`: the start will read the optimizer state. Measures the process as it is now.
MemoryNeed memory_need(const Options& options, const PlannedStep& step, const Backend& backend, bool resumes);

}  // namespace megalith
