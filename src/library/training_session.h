// One rank of one model, trained step by step by the program around the library. It has no loop, no data sets and no
// log of its own, and touches nothing of the process: no signals, no output, no environment. Of several ranks all make
// the same calls.
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
  // own: the model, where it is the caller's; else a GPT by the options.
  TrainingSession(Options options, const Place& place, std::shared_ptr<const Model> own);
  ~TrainingSession();

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
  BatchForm form() const;
  void check_whole() const;
  void read_alone(const StateTensor& t, std::span<float> out) const;

  Options o_;
  std::shared_ptr<const Model> own_;
  std::unique_ptr<Ranks> ranks_;
  std::unique_ptr<Backend> backend_;
  std::optional<PlannedStep> step_;
  Coord coord_{};
  std::unique_ptr<Interpreter> interpreter_;
  std::optional<ModelState> model_;
  std::optional<RunStart> start_;
  std::optional<Trainer> trainer_;
  BatchSizes sizes_;
  RunState state_;
  BatchFiller filler_;
  bool has_gradients_ = false;
  bool is_broken_ = false;  // a call ended on some ranks and not on others, so they may be at different places
};

}  // namespace megalith
