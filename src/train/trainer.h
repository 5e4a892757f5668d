// Runs steps of a plan: micro-batches, then the update, with the rates of the moment. Knows nothing of files, logs or
// flags.
#pragma once
#include <optional>

#include "optim/lr_schedule.h"
#include "optim/wd_schedule.h"
#include "train/feed.h"
#include "train/step.h"

namespace megalith {

// All that a run must remember beside its tensors; everything random follows from the seed and these numbers.
struct RunState {
  i64 iteration = 0;
  i64 consumed_samples = 0;  // read from the training set, skipped steps included
  i64 schedule_samples = 0;  // of the steps that counted: where the schedules are
  i64 optimizer_steps = 0;   // that counted: Adam's t
  i64 skipped_iterations = 0;
  bool operator==(const RunState&) const = default;
};

struct Schedules {
  LrSchedule lr;
  WdSchedule weight_decay;
};

struct StepResult {
  double loss = 0;                      // mean over the tokens of the global batch
  double grad_norm = 0;                 // before clipping
  bool counted = true;                  // false: loss or norm were not finite and nothing was updated
  std::optional<double> params_norm{};  // for the log, where wanted
  std::optional<i64> num_zeros{};       // of the gradient
};

class Trainer {
 public:
  Trainer(const PlannedStep& step, Interpreter& interpreter, const OptimizerConfig& optimizer,
          const Schedules& schedules);

  // One step over `micro_batches` batches of the loader. `state` moves on by one iteration.
  StepResult train_step(DataLoader& loader, i64 micro_batches, RunState& state);

  struct Evaluation {
    double loss_sum = 0, tokens = 0;
    double mean() const { return loss_sum / tokens; }
  };
  // The loss over so many batches, without updates.
  Evaluation evaluate(DataLoader& loader, i64 micro_batches);

 private:
  void write_hyper(const RunState& state);

  const Plan& plan_;
  Interpreter& interpreter_;
  const OptimizerConfig& optimizer_;
  Schedules schedules_;
  Feed feed_;
};

}  // namespace megalith
