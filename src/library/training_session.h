// One model on one rank, trained step by step by the program around the library. It has no loop, no data sets and no
// log of its own, and touches nothing of the process: no signals, no output, no environment.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/ranks.h"
#include "library/given_batches.h"
#include "plan/interpreter.h"
#include "resume/checkpointing.h"
#include "settings/batch_sizes.h"
#include "settings/options.h"
#include "step/model_state.h"
#include "step/trainer.h"

namespace megalith {

class TrainingSession {
 public:
  explicit TrainingSession(Options options);

  void set_batches(const BatchFiller& filler) { filler_ = filler; }
  StepResult step();
  double evaluate(const BatchFiller& filler, i64 micro_batches);
  const RunState& state() const { return state_; }

  // Errors, not warnings: the caller decides what comes next.
  void save(const std::string& dir);
  void load(const std::string& dir);

  const std::vector<StateTensor>& tensors() const { return model_->tensors(); }
  const StateTensor& tensor(const std::string& name) const;  // Error if there is none
  void read(const std::string& name, std::span<float> out) const;
  void write(const std::string& name, std::span<const float> values);
  void read_gradient(const std::string& name, std::span<float> out) const;

 private:
  void start_from(const Options& options);
  BatchForm form() const { return {o_.train.micro_batch_size, o_.model.seq_length, o_.model.vocab_size}; }

  Options o_;
  std::unique_ptr<Ranks> ranks_;
  std::unique_ptr<Backend> backend_;
  std::optional<PlannedStep> step_;
  std::unique_ptr<Interpreter> interpreter_;
  std::optional<ModelState> model_;
  std::optional<RunStart> start_;
  std::optional<Trainer> trainer_;
  BatchSizes sizes_;
  RunState state_;
  BatchFiller filler_;
  bool has_gradients_ = false;
};

}  // namespace megalith
