// When a run evaluates, on which sets, and how it tells: while training and at its end.
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
  // Of all ranks: the validation set, or each of them.
  void run(const RunState& state);
  // Behind the last step: the validation set, unless that was just done, and the test set.
  void run_last(const RunState& state);

 private:
  void on(const std::shared_ptr<const Dataset>& set, const RunState& state, const std::string& where, bool record,
          bool whole, const std::string& name = "");
  void on_validation_sets(const RunState& state, const std::string& where, bool record);
  i64 done_before(i64 iteration) const;  // evaluations while training

  const Options& o_;
  const TrainConfig& t_;
  Evaluation& evaluation_;
  const Datasets& sets_;
  const Observers& observers_;
};

}  // namespace megalith
