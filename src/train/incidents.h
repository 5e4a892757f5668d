// Finds iterations whose loss or gradient norm is not finite, or far above that of recent steps. Each one goes to the
// log and to SAVE/incidents/iter_0001234.json, with its cause if one is found.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "observe/spike_detector.h"
#include "settings/options.h"
#include "train/incident_json.h"

namespace megalith {

class Incidents {
 public:
  // `in_step`: all ranks finish a step before any rank starts the next. Then ranks can communicate, and the step's
  // initial state still exists. `still_ours`: throws if SAVE is not the run's directory now. Then nothing is written.
  Incidents(const Options& options, const ReplaySite& site, std::shared_ptr<const Dataset> train, bool in_step,
            std::function<void()> still_ours);

  // Sets in the result whether it is a spike. Called after each step.
  void judge(StepResult& result);
  // Writes the incident, if there is one, and returns its cause, else "". All ranks call it after each step.
  std::string take(const RunState& state, const StepResult& result);

 private:
  std::string cause(const IncidentReport& incident) const;
  void write(const IncidentReport& incident) const;
  bool is_bad(const StepResult& result) const;

  const Options& o_;
  ReplaySite site_;
  std::shared_ptr<const Dataset> train_;
  bool in_step_;
  std::function<void()> still_ours_;
  SpikeDetector loss_, grad_norm_;
  i64 taken_ = 0, loss_spikes_ = 0, grad_norm_spikes_ = 0;
};

}  // namespace megalith
