// Computes gradients of the last iteration's data twice, and a third time where their bits differ (--replay-interval).
// Steps are deterministic, so a difference is a fault of a device. Leaves no trace.
#pragma once
#include <memory>
#include <optional>

#include "settings/options.h"
#include "train/incident_replay.h"

namespace megalith {

class StepReplay {
 public:
  StepReplay(const Options& options, const ReplaySite& site, std::shared_ptr<const Dataset> train);

  // On all ranks, after an iteration, with no step in flight. Returns this rank's exit code. None if there is no fault,
  // or if --rerun-mode only reports.
  std::optional<int> look(const RunState& state, i64 samples);

 private:
  u64 gradients(const LoaderConfig& config, i64 micro_batches);
  std::optional<int> tell(i64 iteration, u64 first, u64 second, u64 third);

  const Options& o_;
  ReplaySite site_;
  std::shared_ptr<const Dataset> train_;
  std::vector<const Leaf*> leaves_;  // gradients
  i64 differences_ = 0;
};

}  // namespace megalith
