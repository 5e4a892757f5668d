// Data that a training run reads and does not train on.
#include <algorithm>

#include "base/log.h"
#include "train/left_out.h"
#include "train/training_run.h"

namespace megalith {

bool TrainingRun::is_left_out() const {
  return std::ranges::find(t_.iterations_to_skip, state_.iteration + trainer_.started()) != t_.iterations_to_skip.end();
}

// As in Megatron, such an iteration does nothing else, and schedules do not advance.
void TrainingRun::leave_out(DataLoader& loader) {
  finish_all();
  const i64 samples = sizes_.at(loader.consumed_samples());
  for (i64 m = 0; m < samples / samples_at_once(); ++m) loader.next();
  ++state_.iteration, state_.consumed_samples += samples, state_.skipped_samples += samples;
  log::say("  iteration {}: its {} samples are skipped (--iterations-to-skip)", state_.iteration, samples);
}

void TrainingRun::leave_out_samples(i64 consumed) {
  const SampleRanges* samples = o_.data.left_out.get();
  const std::string line = left_out_line(samples, state_.iteration, consumed, state_.consumed_samples);
  if (line.empty()) return;
  state_.skipped_samples += samples->count(consumed, state_.consumed_samples);
  log::say("{}", line);
}

}  // namespace megalith
