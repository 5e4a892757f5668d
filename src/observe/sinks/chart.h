// Prints the loss curves at the end of a run.
#pragma once
#include "observe/record.h"
#include "observe/sinks/loss_chart.h"

namespace megalith {

class Chart final : public Sink {
 public:
  void take(const Record& record) override { training_.push_back({double(record.iteration), record.loss}); }
  void take_evaluation(const Evaluated& evaluated) override;
  void finish() override;

 private:
  std::vector<ChartPoint> training_, validation_;
};

}  // namespace megalith
