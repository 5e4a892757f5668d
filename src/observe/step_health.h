// Looks at each step's loss and gradient: tells those that did not count or had nothing to learn, and ends a run that
// cannot recover.
#pragma once
#include "settings/options.h"
#include "step/model_state.h"
#include "step/trainer.h"

namespace megalith {

class StepHealth {
 public:
  StepHealth(const TrainConfig& train, const ModelState& model) : t_(train), model_(model) {}

  // After each step. Error if this rank's weights are not finite, or so many steps in a row were skipped. Ranks finish
  // steps at different moments, so none speaks to others here. `cause`: of a step that did not count, if it is known.
  void look(i64 iteration, const StepResult& result, const std::string& cause = "");

 private:
  void check_hope(i64 iteration, const StepResult& result, const std::string& cause) const;

  const TrainConfig& t_;
  const ModelState& model_;
  i64 skipped_in_a_row_ = 0;
};

}  // namespace megalith
