#include "observe/sinks/chart.h"

#include "base/log.h"

namespace megalith {

// With several validation sets there is no curve.
void Chart::take_evaluation(const Evaluated& e) {
  if (e.record && e.set.empty()) validation_.push_back({double(e.iteration), e.losses.front().value});
}

void Chart::finish() {
  if (training_.size() < 2) return;
  log::say("{}", loss_chart("training loss", training_));
  if (validation_.size() > 1) log::say("{}", loss_chart("validation loss", validation_));
}

}  // namespace megalith
