// When a run evaluates, on which sets, and how it reports: during training and at its end.
#pragma once
#include <string>

#include "data/build_datasets.h"
#include "observe/observers.h"
#include "train/evaluation.h"

namespace megalith {

class Validation {
 public:
  Validation(const Options& options, Evaluation& evaluation, const Datasets& sets, const Observers& observers)
      : o_(options), t_(options.train), evaluation_(evaluation), sets_(sets), observers_(observers) {}

  bool is_due(i64 iteration) const;  // while training
  // Evaluates the validation set, or each of them. All ranks call it.
  void run(const RunState& state);
  // After the last step: evaluates the validation set, unless it has just done so, and the test set.
  void run_last(const RunState& state);

 private:
  void on(const std::shared_ptr<const Dataset>& set, const RunState& state, const std::string& where, bool record,
          bool whole, const std::string& name = "");
  void on_validation_sets(const RunState& state, const std::string& where, bool record);
  i64 done_before(i64 iteration) const;  // evaluations during training

  const Options& o_;
  const TrainConfig& t_;
  Evaluation& evaluation_;
  const Datasets& sets_;
  const Observers& observers_;
};

}  // namespace megalith
