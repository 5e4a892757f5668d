// Checks each step's loss and gradient. Reports skipped steps and steps without labels, and ends a run that cannot
// recover.
#pragma once
#include "settings/options.h"
#include "step/model_state.h"
#include "step/trainer.h"

namespace megalith {

class StepHealth {
 public:
  StepHealth(const TrainConfig& train, const ModelState& model) : t_(train), model_(model) {}

  // Called after each step. Error if this rank's weights are not finite, or after too many consecutive skipped steps.
  // It does not communicate, because ranks finish steps at different times. `cause`: why a step was skipped, if
  // known.
  void look(i64 iteration, const StepResult& result, const std::string& cause = "");

 private:
  void check_hope(i64 iteration, const StepResult& result, const std::string& cause) const;

  const TrainConfig& t_;
  const ModelState& model_;
  i64 skipped_in_a_row_ = 0;
};

}  // namespace megalith
