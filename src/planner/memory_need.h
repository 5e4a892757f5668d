// What memory a run takes, told before it takes it.
#pragma once
#include <optional>

#include "plan/interpreter.h"
#include "settings/options.h"
#include "step/step.h"

namespace megalith {

// The process's peak memory by the plan, in bytes: of the memory that the arena lives in, and of the host's where that
// is another.
struct MemoryNeed {
  i64 arena = 0;
  i64 host_state = 0;  // of the optimizer's and activations, in the host's memory
  // On the host: libraries, tokenizer, the data's index, the plan itself; on a device: what the context and libraries
  // hold of it.
  i64 process = 0;
  // Of a device, as far as it has room: copies that are made there first, so that training does not wait for their way
  // to the host (--async-save).
  i64 device_copies = 0;
  // Of the host's:
  i64 batches = 0;  // on their way from the data to the arena
  i64 start = 0;    // what reading or drawing the weights takes beyond all that, while activations are untouched
  i64 data = 0;     // pages of the data's files
  i64 others = 0;   // what evaluating and saving add: code, stacks and texts
  i64 copies = 0;   // of the state, while it is saved beside the training (--async-save)
  i64 saving = 0;   // buffers of the files while a checkpoint is written
  std::optional<i64> host{};  // of the process there, if the arena is elsewhere
  bool resumes = false;       // the optimizer's state is read at the start
  i64 total() const { return arena + process + device_copies + (host ? 0 : beside()); }
  i64 host_total() const { return host.value_or(0) + beside(); }
  i64 beside() const { return host_state + batches + start + data + others + copies + saving; }
};
// `resumes`: the optimizer's state will be read. Measures the process as it is now.
MemoryNeed memory_need(const Options& options, const PlannedStep& step, const Backend& backend, bool resumes);

}  // namespace megalith
