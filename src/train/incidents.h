// Iterations whose loss or gradient is not finite, or far above those of the last steps: each is told with its cause,
// as far as it can be found, and goes to SAVE/incidents/iter_0001234.json.
#pragma once
#include <memory>
#include <string>

#include "observe/spike_detector.h"
#include "settings/options.h"
#include "train/incident_json.h"

namespace megalith {

class Incidents {
 public:
  // `in_step`: all ranks finish a step before one starts the next. So they can speak to one another, and what the
  // step began with is still there.
  Incidents(const Options& options, const ReplaySite& site, std::shared_ptr<const Dataset> train, bool in_step);

  // Says in the result whether it is a spike. After each step.
  void judge(StepResult& result);
  // Writes the incident, if it is one. Returns its cause: "" where there is none. Of all ranks after each step.
  std::string take(const RunState& state, const StepResult& result);

 private:
  std::string cause(const IncidentReport& incident) const;
  void write(const IncidentReport& incident) const;
  bool is_bad(const StepResult& result) const;

  const Options& o_;
  ReplaySite site_;
  std::shared_ptr<const Dataset> train_;
  bool in_step_;
  SpikeDetector loss_, grad_norm_;
  i64 taken_ = 0, loss_spikes_ = 0, grad_norm_spikes_ = 0;
};

}  // namespace megalith
