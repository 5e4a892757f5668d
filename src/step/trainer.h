// Runs steps of a plan: micro-batches, then the update, with the rates of the moment. Knows nothing of files, logs or
// flags.
//
// Starting a step puts it into the device's queue. Finishing it waits for its results. A step may start while the
// previous one runs, so the device never waits for the host. Its rates depend on whether the previous step counted,
// because a skipped step does not advance the schedule. The host does not know that yet. So the rates are computed from
// the previous step's results when the queue reaches them (Interpreter::write_after).
#pragma once
#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

#include "base/named_value.h"
#include "optim/lr_schedule.h"
#include "optim/wd_schedule.h"
#include "step/cast_losses.h"
#include "step/micro_batch_losses.h"
#include "step/pipeline.h"
#include "step/step.h"

namespace megalith {

// The state of a run besides its tensors. All random numbers follow from the seed and these numbers.
struct RunState {
  i64 iteration = 0;
  i64 consumed_samples = 0;  // read from the training set, skipped steps included
  i64 schedule_samples = 0;  // of the steps that counted: where the schedules are
  i64 optimizer_steps = 0;   // that counted: Adam's t
  i64 skipped_iterations = 0;
  std::optional<quant::LossScale> loss_scale{};  // of the next step; none: as at the start, or there is no next step
  i64 skipped_samples = 0;                       // left out, or by which steps were made smaller
  void advance(i64 samples, bool counted);       // by one step
  bool operator==(const RunState&) const = default;
};

struct Schedules {
  LrSchedule lr;
  std::optional<LrSchedule> decoupled{};  // of the word embeddings and the output layer
  WdSchedule weight_decay;
};

// Numbers that a step counts besides its loss (models/model.h, Tally).
struct Tallied {
  std::string name;
  std::vector<double> numbers;
};

// Of a term of the loss (models/model.h).
struct TermSums {
  std::string name;
  double sum = 0, weight = 0;
};

struct StepResult {
  double loss = 0;                  // mean over the tokens of the global batch
  double grad_norm = 0;             // before clipping
  double loss_scale = 1;            // after the step
  bool may_scale_down = false;      // skipped, and the loss scale can still fall
  bool counted = true;              // false: loss or norm were not finite and nothing was updated
  i64 samples = 0;                  // read for it
  double data_wait = 0;             // seconds that it waited for them
  double finished = 0;              // when, by steady_seconds()
  std::vector<NamedValue> terms{};  // the means of the loss's terms after the first
  std::vector<Tallied> tallies{};   // the model's
  std::vector<double> amax{};       // for each of PlannedStep::scales the amax of its casts, if requested
  std::vector<CastLoss> casts{};    // of the stage, if requested
  // This rank's share of each micro-batch's loss; empty where the host cannot see it, or another stage has it.
  std::vector<LossShare> micro_batches{};
  bool loss_spike = false, grad_norm_spike = false;  // far above those of the last steps (observe/spike_detector.h)
  i64 loss_spikes = 0, grad_norm_spikes = 0;         // of this process so far
  std::optional<double> params_norm{};               // after the step, if requested
  std::vector<NamedValue> state_norms{};             // the same of each of the optimizer's states, by suffix
  std::optional<double> nonzeros{};                  // nonzero elements of the gradients, if requested
  bool is_empty() const { return loss == 0 && grad_norm == 0; }  // exactly so if no label of the batch counts
};

class Trainer {
 public:
  // `coord`: this rank's place.
  Trainer(const PlannedStep& step, Interpreter& interpreter, const Coord& coord, const OptimizerConfig& optimizer,
          const Schedules& schedules);

  // Starts a step over `micro_batches` batches of the batches. `state`: after the finished steps; at most one more may
  // be started and not finished.
  void start_step(BatchSource& batches, i64 micro_batches, const RunState& state);
  int started() const { return int(started_.size()); }                  // and not finished
  bool ready() { return interpreter_.ready(started_.front().ticket); }  // the earliest of them; finishing won't wait
  // Waits for the earliest unfinished step, and returns its result. `state` advances by one iteration.
  StepResult finish_step(RunState& state);

  // Forward and backward of the batches without an update: changes only gradients. No step may be running.
  void run_again(BatchSource& batches, i64 micro_batches);

  struct Evaluation {
    double loss_sum = 0, tokens = 0;
    std::vector<TermSums> others{};  // the loss's terms after the first; weight 0: evaluation does not have it
    double mean() const { return loss_sum / std::max(tokens, 1.0); }  // 0 where no token counts
  };
  // The losses over this many batches, without updates. Only the last stage of a pipeline knows them: zero on others.
  Evaluation evaluate(BatchSource& batches, i64 micro_batches);

 private:
  struct Started {
    int ticket = 0;
    std::optional<int> tally = {}, loss_scale = {}, nonzeros = {}, squares = {};  // tickets too
    std::vector<int> amax = {}, casts = {}, states = {};
    i64 samples = 0;
    double data_wait = 0;
    std::vector<LossShare> micro_batches = {};
  };
  // Computes a step's leaves of step_scalars_in_name().
  struct Rates {
    Schedules schedules;
    std::shared_ptr<const OptimizerConfig> config;
    const LrSchedule& lr(bool own) const { return own && schedules.decoupled ? *schedules.decoupled : schedules.lr; }
    void write(const RunState& state, const Optimizer& optimizer, const LrSchedule& lr, double* step_scalars_in) const;
  };
  void write_step_scalars_in(const RunState& state);
  void write_step_scalars_in(const RunState& state, const Leaf& leaf, const Optimizer& optimizer, bool own_rate);
  void read_tallies(const std::vector<double>& numbers, StepResult& out) const;
  Evaluation evaluated(const std::string& program) const;  // empty: nothing was
  void request_norms(Started& step);
  void write_loss_scale(const RunState& state);
  void read_loss_scale(const Started& step, RunState& state, StepResult& out);
  const char* updating() const { return pipeline_ ? "update" : "last-micro-batch"; }  // the program

  const Plan& plan_;
  Interpreter& interpreter_;
  Rates rates_;
  std::vector<std::string> states_;  // suffixes of the optimizer's, of all stages
  std::vector<std::string> terms_;   // of the loss
  std::vector<std::string> amax_;    // outputs
  std::vector<CastCounts> casts_;    // their outputs exist
  TallyPlaces tallies_;
  std::optional<LossScaling> scaling_;
  std::vector<DataInput> inputs_;  // of the model
  std::optional<Pipeline> pipeline_;
  std::optional<Feed> feed_;  // without a pipeline
  MicroBatchLosses losses_;
  std::deque<Started> started_;
};

}  // namespace megalith
