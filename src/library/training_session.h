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

// What callers know of a tensor of the model's state.
struct WholeTensor {
  std::string name;
  Shape shape;
  bool is_weight, is_trained;
  DType dtype;
};

class TrainingSession {
 public:
  // own: the model, where it is the caller's; else a GPT by the options.
  TrainingSession(Options options, const Place& place, std::shared_ptr<const Model> own);
  ~TrainingSession();

  void set_batches(const BatchFiller& filler) { filler_ = filler; }
  StepResult step();
  double tokens() const { return tokens_; }  // of the last step, of this rank's batches: the sum of their loss_mask
  double evaluate(const BatchFiller& filler, i64 micro_batches);
  const RunState& state() const { return state_; }

  // Errors, not warnings: the caller decides what comes next.
  void save(const std::string& dir);
  void load(const std::string& dir);

  // Of all ranks: a pipeline's stage has part of them.
  const std::vector<WholeTensor>& tensors() const { return tensors_; }
  const WholeTensor& tensor(const std::string& name) const;  // Error if there is none
  void read(const std::string& name, std::span<float> out) const;
  void write(const std::string& name, std::span<const float> values);
  void read_gradient(const std::string& name, std::span<float> out) const;
  struct View {
    std::byte* data;
    Shape shape;
    bool is_writable;
  };
  // The memory itself. Error where it is not one block of f32 that the host can see.
  View view(const std::string& name) const;
  View view_gradient_sum(const std::string& name) const;

 private:
  void start_from(const Options& options);
  BatchForm form() const;
  void check_whole() const;
  void list_tensors();
  const StateTensor* held(const std::string& name) const;  // by this rank; nullptr: other stages hold it
  void read_alone(const StateTensor& t, std::span<float> out) const;
  const Leaf& gradient_of(const WholeTensor& t) const;  // Error if it is not there, or not f32
  double from_last_stage(double x);

  Options o_;
  std::shared_ptr<const Model> own_;
  std::unique_ptr<Ranks> ranks_;
  std::unique_ptr<Backend> backend_;
  std::optional<PlannedStep> step_;
  Coord coord_{};
  std::unique_ptr<Interpreter> interpreter_;
  std::optional<ModelState> model_;
  std::vector<WholeTensor> tensors_;
  std::optional<RunStart> start_;
  std::optional<Trainer> trainer_;
  BatchSizes sizes_;
  RunState state_;
  BatchFiller filler_;
  double tokens_ = 0;
  bool has_gradients_ = false;
  bool is_broken_ = false;  // a call ended on some ranks and not on others, so they may be at different places
};

}  // namespace megalith
