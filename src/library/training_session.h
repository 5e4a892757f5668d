// One rank of one model, which the program that uses the library trains step by step. It has no loop, no data sets and
// no log. It changes nothing of the process: no signals, no output, no environment. All ranks must make the same calls.
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

// The properties of a tensor of the model's state that callers see.
struct WholeTensor {
  std::string name;
  Shape shape;
  bool is_weight, is_trained;
  DType dtype;
};

class TrainingSession {
 public:
  // own: the caller's model, or null for a GPT by the options.
  TrainingSession(Options options, const Place& place, std::shared_ptr<const Model> own);
  ~TrainingSession();

  void set_batches(const BatchFiller& filler) { filler_ = filler; }
  StepResult step();
  double tokens() const { return tokens_; }  // of the last step: the sum of loss_mask over this rank's batches
  double evaluate(const BatchFiller& filler, i64 micro_batches);
  const RunState& state() const { return state_; }

  // Throws errors where a run would warn, because the caller decides what to do.
  void save(const std::string& dir);
  void load(const std::string& dir);

  // Tensors of all ranks. A pipeline stage holds only some of them.
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
  // The tensor's own memory. Error unless it is one block of f32 that the host can access.
  View view(const std::string& name) const;
  View view_gradient_sum(const std::string& name) const;

 private:
  void start_from(const Options& options);
  BatchForm form() const;
  void check_whole() const;
  void list_tensors();
  const StateTensor* held(const std::string& name) const;  // nullptr: this rank does not hold it, other stages do
  void read_alone(const StateTensor& t, std::span<float> out) const;
  const Leaf& gradient_of(const WholeTensor& t) const;  // Error if it is missing or not f32
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
  bool is_broken_ = false;  // a call ended on some ranks and not on others, so ranks may be at different points
};

}  // namespace megalith
