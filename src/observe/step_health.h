// Checks each step's loss and gradient: reports skipped steps and steps with nothing to learn, and ends a run that
// cannot recover.
#pragma once
#include "settings/options.h"
#include "step/model_state.h"
#include "step/trainer.h"

namespace megalith {

class StepHealth {
 public:
  StepHealth(const TrainConfig& train, const ModelState& model) : t_(train), model_(model) {}

  // After each step. Error if this rank's weights are not finite, or if so many steps in a row were skipped. Ranks
  // finish steps at different moments, so there is no communication here. `cause`: why a step was skipped, if known.
  void look(i64 iteration, const StepResult& result, const std::string& cause = "");

 private:
  void check_hope(i64 iteration, const StepResult& result, const std::string& cause) const;

  const TrainConfig& t_;
  const ModelState& model_;
  i64 skipped_in_a_row_ = 0;
};

}  // namespace megalith
